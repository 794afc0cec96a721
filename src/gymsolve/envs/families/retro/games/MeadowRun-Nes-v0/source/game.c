/* Meadow Run: a small platform game for the NES, free like the rest of this repository.
 *
 * Run to the right, jump over pits, jump onto walkers or over them, reach the flag before the clock ends.
 * Left, right: walk. B: run. A: jump, higher while it is held. On the title up and down choose a level, START begins.
 *
 * Lengths are pixels; positions and speeds of the runner are sixteenths of a pixel. Nothing is random.
 */

typedef unsigned char u8;
typedef unsigned int u16;

/* start.s */
extern volatile u8 ready;
extern u8 frame, ctrl, scroll, pad;
#pragma zpsym("ready")
#pragma zpsym("frame")
#pragma zpsym("ctrl")
#pragma zpsym("scroll")
#pragma zpsym("pad")
extern u8 changes[96], sprites[256];
extern u8 coins, level_hi, level_lo, lives, x_hi, x_lo, score[6], clock[3];
void read_pad(void);

/* levels.s */
extern const u8 *const level_rows[];
extern const u8 *const level_walkers[];
extern const u8 level_width[], level_flag[];

#define PPUCTRL (*(volatile u8 *)0x2000)
#define PPUMASK (*(volatile u8 *)0x2001)
#define PPUADDR (*(volatile u8 *)0x2006)
#define PPUDATA (*(volatile u8 *)0x2007)
#define PULSE ((volatile u8 *)0x4000)

enum { RIGHT = 1, LEFT = 2, DOWN = 4, UP = 8, START = 16, SELECT = 32, B = 64, A = 128 };
enum { SKY, GROUND, GROUND_BODY, BLOCK, BRICK, PIPE_LEFT, PIPE_RIGHT, PIPE_LEFT_BODY, PIPE_RIGHT_BODY, COIN, TOP, POLE };
enum { STAND, WALK, JUMP, FALLEN, WALKER, SQUASHED };
enum { PLAYING, CLEARED, DEAD };

#define LAST_SOLID PIPE_RIGHT_BODY
#define ROWS 13           /* places from top to bottom, below two rows of status */
#define ART 0x40          /* first tile of pictures of 2 × 2 tiles; signs come before */
#define SLOTS 5           /* walkers on the screen at most */
#define LEVELS 4
#define AHEAD 40          /* columns of tiles that are drawn beyond the left edge */
#define WALK_SPEED 24
#define RUN_SPEED 40
#define JUMP_SPEED 64
#define FALL_SPEED 64
#define CLOCK_FRAMES 24

static const u8 colours[32] = {
    0x21, 0x0F, 0x27, 0x17, 0x21, 0x1A, 0x2A, 0x17, 0x21, 0x0F, 0x30, 0x10, 0x21, 0x0F, 0x30, 0x10,
    0x21, 0x0F, 0x16, 0x36, 0x21, 0x0F, 0x14, 0x30, 0x21, 0x0F, 0x30, 0x10, 0x21, 0x0F, 0x30, 0x10,
};
/* Clouds above, ground below, everything else between: a palette belongs to rows, so scrolling need not move it. */
static const u8 palette_rows[8] = {0xAA, 0xAA, 0x0A, 0x00, 0x00, 0x00, 0x50, 0x05};

static const u8 *rows;            /* ROWS pages of one place per byte */
static u8 taken[32];              /* a bit per column: its coin was taken */
static u16 camera;                /* left edge of the screen */
static u16 drawn;                 /* columns of tiles that are on the background */
static u16 end_x;                 /* largest camera */
static u16 flag_x;
static u8 used;                   /* bytes of sprites in use */

static u16 x;
static int y, vx, vy;
static u8 grounded, flipped, before, stride, state;

static const u8 *next_walker;
static u16 walker_x[SLOTS];
static u8 walker_y[SLOTS], walker_flip[SLOTS], walker_life[SLOTS];

static u8 clock_frames, chosen;

static void show(void) {
    x_hi = camera >> 8;
    x_lo = (u8)camera;
    ctrl = 0x88 | (x_hi & 1);
    scroll = x_lo;
    ready = 1;
    while (ready) {}
    before = pad;
    read_pad();
}

static void wait(u8 frames) {
    while (frames--) show();
}

static void sound(u8 shape, u8 sweep, u8 period, u8 length) {
    PULSE[0] = shape;
    PULSE[1] = sweep;
    PULSE[2] = period;
    PULSE[3] = length;
}

/* The screen is dark from here until light(). */
static void dark(void) {
    ready = 0;
    PPUCTRL = 0;
    PPUMASK = 0;
}

static void light(void) {
    ctrl = 0x88;
    PPUCTRL = 0x88;
    show();
    PPUMASK = 0x1E;
}

static void address(u16 at) {
    PPUADDR = at >> 8;
    PPUADDR = (u8)at;
}

static void text(u16 at, const char *words) {
    address(at);
    while (*words) PPUDATA = *words++ - 32;
}

static void hide_sprites(void) {
    u8 i = used;
    do {
        sprites[i] = 0xFF;
        i += 4;
    } while (i);
}

static void blank(void) {
    u16 i;
    u8 row, half;
    dark();
    address(0x3F00);
    for (row = 0; row < 32; ++row) PPUDATA = colours[row];
    address(0x2000);
    for (i = 0; i < 0x800; ++i) PPUDATA = 0;
    for (half = 0; half < 2; ++half) {
        address(half ? 0x27C0 : 0x23C0);
        for (row = 0; row < 64; ++row) PPUDATA = palette_rows[row >> 3];
    }
    camera = 0;
    used = 0;
    hide_sprites();
}

/* One column of tiles, from `drawn`, as a change of the background. */
static void draw_column(void) {
    u8 row, tile, *to = changes;
    u8 column = drawn >> 1;
    const u8 *from = rows + column;
    *to++ = (drawn & 32) ? 0xA4 : 0xA0;
    *to++ = 0x80 | (drawn & 31);
    *to++ = 2 * ROWS;
    for (row = 0; row < ROWS; ++row) {
        tile = *from;
        from += 256;
        if (tile == COIN && taken[column >> 3] & (1 << (column & 7))) tile = SKY;
        tile = ART + (tile << 2) + (u8)(drawn & 1);
        *to++ = tile;
        *to++ = tile + 2;
    }
    *to = 0xFF;
    ++drawn;
}

static void sprite(u8 at_x, u8 at_y, u8 tile, u8 look) {
    sprites[used] = at_y - 1;
    sprites[used + 1] = tile;
    sprites[used + 2] = look;
    sprites[used + 3] = at_x;
    used += 4;
}

static void picture(int at_x, u8 at_y, u8 art, u8 look) {
    u8 tile = ART + (art << 2), swap = look & 0x40 ? 1 : 0;
    if (at_x >= 0 && at_x < 256) {
        sprite(at_x, at_y, tile + swap, look);
        sprite(at_x, at_y + 8, tile + 2 + swap, look);
    }
    at_x += 8;
    if (at_x >= 0 && at_x < 256) {
        sprite(at_x, at_y, tile + 1 - swap, look);
        sprite(at_x, at_y + 8, tile + 3 - swap, look);
    }
}

static void draw_status(void) {
    u8 i;
    sprite(16, 9, 'L' - 32, 2);
    sprite(24, 9, 17 + level_hi, 2);
    sprite(32, 9, '-' - 32, 2);
    sprite(40, 9, 17 + level_lo, 2);
    sprite(208, 9, 'C' - 32, 2);
    sprite(216, 9, 16 + coins / 10, 2);
    sprite(224, 9, 16 + coins % 10, 2);
    for (i = 0; i < 6; ++i) sprite(16 + (i << 3), 17, 16 + score[i], 2);
    sprite(16, 25, 'M' - 32, 2);
    sprite(24, 25, 16 + lives, 2);
    sprite(200, 25, 'T' - 32, 2);
    for (i = 0; i < 3; ++i) sprite(208 + (i << 3), 25, 16 + clock[i], 2);
}

static void draw_moving(void) {
    u8 i, art;
    used = 0;
    draw_status();
    if (state == DEAD) art = FALLEN;
    else if (!grounded) art = JUMP;
    else art = vx && stride & 8 ? WALK : STAND;
    if (y > 0 && y < 232 * 16) picture((x >> 4) - camera, y >> 4, art, flipped ? 0x40 : 0);
    for (i = 0; i < SLOTS; ++i) {
        if (!walker_life[i]) continue;
        picture(walker_x[i] - camera, walker_y[i], walker_life[i] == 255 ? WALKER : SQUASHED,
                frame & 16 ? 0x41 : 0x01);
    }
    hide_sprites();
}

static void add_score(u8 place, u8 points) {
    score[place] += points;
    while (score[place] > 9) {
        score[place] -= 10;
        if (!place) return;
        ++score[--place];
    }
}

/* What is at a point; sky above and below the level. */
static u8 at(u16 px, int py) {
    u8 row;
    if (py < 32 || py >= 240) return SKY;
    row = (u8)((u8)py >> 4) - 2;
    return rows[((u16)row << 8) | (u8)(px >> 4)];
}

static u8 solid(u16 px, int py) {
    u8 tile = at(px, py);
    return tile && tile <= LAST_SOLID;
}

static void take_coin(u16 px) {
    u8 column = px >> 4;
    u8 *to = changes;
    u8 left = (column << 1) & 31;
    u16 place;
    int py = (y >> 4) + 8;
    if (taken[column >> 3] & (1 << (column & 7))) return;
    taken[column >> 3] |= 1 << (column & 7);
    if (++coins == 100) {
        coins = 0;
        ++lives;
    }
    add_score(3, 2);
    sound(0x84, 0, 0x50, 0x08);
    place = 0x2000 + ((column & 16) ? 0x400 : 0) + ((u16)(py >> 4) << 6) + left;
    while (*to != 0xFF) to += to[2] + 3; /* a column may be waiting already */
    *to++ = place >> 8;
    *to++ = (u8)place;
    *to++ = 2;
    *to++ = 0;
    *to++ = 0;
    place += 32;
    *to++ = place >> 8;
    *to++ = (u8)place;
    *to++ = 2;
    *to++ = 0;
    *to++ = 0;
    *to = 0xFF;
}

static void steer(void) {
    int limit = pad & B ? RUN_SPEED : WALK_SPEED;
    if (pad & RIGHT) {
        flipped = 0;
        vx += vx < 0 ? 2 : 1;
        if (vx > limit) vx -= vx > limit + 1 ? 2 : 1;
    } else if (pad & LEFT) {
        flipped = 1;
        vx -= vx > 0 ? 2 : 1;
        if (vx < -limit) vx += vx < -limit - 1 ? 2 : 1;
    } else if (vx > 0) --vx;
    else if (vx < 0) ++vx;
    if (grounded && pad & A && !(before & A)) {
        vy = -JUMP_SPEED;
        if (vx > WALK_SPEED || vx < -WALK_SPEED) vy -= 6;
        grounded = 0;
        sound(0x86, 0xA1, 0xA0, 0x08);
    }
    if (vy < 0 && pad & A) vy += 2;
    else vy += 6;
    if (vy > FALL_SPEED) vy = FALL_SPEED;
}

static void move_sideways(void) {
    u16 px;
    int py = y >> 4;
    if (vx < 0 && x < (camera << 4) + (u16)-vx) {
        x = camera << 4;
        vx = 0;
        return;
    }
    x += vx;
    px = x >> 4;
    if (vx > 0) {
        if (solid(px + 13, py + 3) || solid(px + 13, py + 14)) {
            x = (((px + 13) & 0xFFF0) - 14) << 4;
            vx = 0;
        }
    } else if (vx < 0) {
        if (solid(px + 2, py + 3) || solid(px + 2, py + 14)) {
            x = (((px + 2) & 0xFFF0) + 14) << 4;
            vx = 0;
        }
    }
}

static void move_down(void) {
    u16 px = x >> 4;
    int py;
    y += vy;
    py = y >> 4;
    grounded = 0;
    if (vy >= 0) {
        if (solid(px + 3, py + 16) || solid(px + 12, py + 16)) {
            y = ((py + 16) & 0xFFF0) - 16 << 4;
            vy = 0;
            grounded = 1;
        }
    } else if (solid(px + 3, py) || solid(px + 12, py)) {
        y = (py & 0xFFF0) + 16 << 4;
        vy = 0;
    }
}

static void move_runner(void) {
    u16 px;
    ++stride;
    steer();
    move_sideways();
    move_down();
    px = (x >> 4) + 8;
    if (at(px, (y >> 4) + 8) == COIN) take_coin(px);
    if (y >= 240 * 16) state = DEAD;
    if (px >= flag_x) state = CLEARED;
    px -= 8;
    if (px > camera + 112) {
        camera = px - 112;
        if (camera > end_x) camera = end_x;
    }
}

static void bring_walkers(void) {
    u8 i;
    while (*next_walker && ((u16)*next_walker << 4) < camera + 264) {
        for (i = 0; i < SLOTS; ++i) {
            if (walker_life[i]) continue;
            walker_x[i] = (u16)next_walker[0] << 4;
            walker_y[i] = next_walker[1];
            walker_flip[i] = 0;
            walker_life[i] = 255;
            break;
        }
        next_walker += 2;
    }
}

static void meet_walker(u8 i) {
    int away = (int)(x >> 4) - (int)walker_x[i];
    int above = (int)walker_y[i] - (y >> 4);
    if (away < -11 || away > 11 || above < -13 || above > 13) return;
    if (vy > 0 && above > 4) {
        walker_life[i] = 20;
        vy = -40;
        add_score(3, 1);
        sound(0x86, 0x99, 0x60, 0x08);
    } else state = DEAD;
}

static void move_walker(u8 i) {
    u16 side;
    if (!solid(walker_x[i] + 4, walker_y[i] + 16) && !solid(walker_x[i] + 11, walker_y[i] + 16)) {
        walker_y[i] += 4;
        if (walker_y[i] > 228) walker_life[i] = 0;
        return;
    }
    walker_y[i] &= 0xF0;
    side = walker_flip[i] ? walker_x[i] + 15 : walker_x[i] - 1;
    if (solid(side, walker_y[i] + 8)) walker_flip[i] ^= 1;
    else if (walker_flip[i]) ++walker_x[i];
    else --walker_x[i];
    if (walker_x[i] + 16 < camera || walker_x[i] < 2) walker_life[i] = 0;
}

static void move_walkers(void) {
    u8 i;
    bring_walkers();
    for (i = 0; i < SLOTS; ++i) {
        if (!walker_life[i]) continue;
        if (walker_life[i] < 255) {
            --walker_life[i];
            continue;
        }
        if (stride & 1) move_walker(i);
        if (walker_life[i]) meet_walker(i);
    }
}

static void run_clock(void) {
    if (--clock_frames) return;
    clock_frames = CLOCK_FRAMES;
    if (clock[2]--) return;
    clock[2] = 9;
    if (clock[1]--) return;
    clock[1] = 9;
    if (clock[0]--) return;
    clock[0] = clock[1] = clock[2] = 0;
    state = DEAD;
}

static void begin_level(void) {
    u8 i;
    blank();
    rows = level_rows[level_lo];
    next_walker = level_walkers[level_lo];
    end_x = ((u16)level_width[level_lo] << 4) - 256;
    flag_x = ((u16)level_flag[level_lo] << 4) + 6;
    for (i = 0; i < 32; ++i) taken[i] = 0;
    for (i = 0; i < SLOTS; ++i) walker_life[i] = 0;
    x = 40 << 4;
    y = 192 << 4;
    vx = vy = 0;
    grounded = 1;
    flipped = stride = state = 0;
    clock[0] = 4;
    clock[1] = clock[2] = 0;
    clock_frames = CLOCK_FRAMES;
    drawn = 0;
    light();
    PPUMASK = 0;              /* columns are drawn as changes, one per frame, before anybody looks */
    while (drawn < AHEAD) {
        draw_column();
        show();
    }
    PPUMASK = 0x1E;
}

static void play_level(void) {
    begin_level();
    while (state == PLAYING) {
        move_runner();
        move_walkers();
        run_clock();
        if (drawn < (camera >> 3) + AHEAD && changes[0] == 0xFF) draw_column();
        draw_moving();
        show();
    }
}

static void fall(void) {
    vy = -56;
    sound(0x87, 0xA4, 0x90, 0x08);
    if (y < 230 * 16) {
        while (y < 240 * 16) {
            y += vy;
            vy += 4;
            draw_moving();
            show();
        }
    }
    wait(20);
    --lives;
    wait(2);                  /* so that the change is seen on this screen, not on the next */
}

static void cheer(void) {
    add_score(2, 1);
    sound(0x84, 0x8C, 0xF0, 0x08);
    vx = 0;
    draw_moving();
    wait(30);
    if (++level_lo == LEVELS) {
        level_lo = 0;
        ++level_hi;
    }
    wait(2);
}

static void say(const char *words) {
    blank();
    text(0x21AA, words);
    light();
    wait(60);
    while (!(pad & START) || before & START) show();
}

static void title(void) {
    u8 i;
    blank();
    text(0x214B, "MEADOW RUN");
    text(0x220B, "LEVEL 1-");
    text(0x228A, "PRESS START");
    light();
    for (;;) {
        changes[1] = 0x13;
        changes[2] = 1;
        changes[3] = 17 + chosen;
        changes[4] = 0xFF;
        changes[0] = 0x22;
        show();
        if (before) continue;
        if (pad & (DOWN | SELECT)) chosen = chosen == LEVELS - 1 ? 0 : chosen + 1;
        if (pad & UP) chosen = chosen ? chosen - 1 : LEVELS - 1;
        if (pad & START) break;
    }
    level_lo = chosen;
    level_hi = coins = 0;
    lives = 2;
    for (i = 0; i < 6; ++i) score[i] = 0;
}

void main(void) {
    lives = 2;
    for (;;) {
        title();
        while (lives < 128 && !level_hi) {
            play_level();
            if (state == DEAD) fall();
            else cheer();
        }
        say(level_hi ? "WELL DONE" : "GAME OVER");
    }
}
