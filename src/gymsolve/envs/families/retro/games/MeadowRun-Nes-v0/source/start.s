; Start of the console, and what happens in every vertical blank.
;
; The main program prepares a picture (sprites, changes of the background, scroll) and sets `ready`.
; The next vertical blank shows it as a whole, so a slow frame never shows half a picture.

    .export   __STARTUP__ : absolute = 1
    .exportzp _ready, _frame, _ctrl, _scroll, _pad
    .export   _changes, _read_pad, _sprites
    .export   _coins, _level_hi, _level_lo, _lives, _score, _scrolling, _clock, _x_hi, _x_lo
    .import   _main, zerobss, copydata, __STACKTOP__
    .importzp sp

    .segment "HEADER"
    .byte "NES", $1A, 2, 1, $01, $00        ; 32 KiB program, 8 KiB tiles, nametables side by side

    .segment "ZEROPAGE"
_ready:  .res 1                             ; 1: the picture may be shown
_frame:  .res 1                             ; counts vertical blanks
_ctrl:   .res 1                             ; for $2000
_scroll: .res 1                             ; for $2005
_pad:    .res 1                             ; A B SELECT START UP DOWN LEFT RIGHT, from bit 7 down
mode:    .res 1

    .segment "OAM"
_sprites: .res 256

    .segment "BSS"
_changes: .res 96                           ; runs of tiles: address high (bit 7: downwards), low, count, tiles; $FF ends

; What the integration reads: the addresses of Super Mario Bros.
    .segment "STATUS"
    .res $1A
_x_hi:      .res 1                          ; $071A  left edge of the screen, in screens
    .res 1
_x_lo:      .res 1                          ; $071C  and in pixels
    .res $075A - $071D
_lives:     .res 1                          ; $075A
    .res 1
_level_lo:  .res 1                          ; $075C
    .res 1
_coins:     .res 1                          ; $075E
_level_hi:  .res 1                          ; $075F
    .res $0778 - $0760
_scrolling: .res 1                          ; $0778  a copy of what $2000 was set to
    .res $07DD - $0779
_score:     .res 6                          ; $07DD  one digit per byte
    .res $07F8 - $07E3
_clock:     .res 3                          ; $07F8  one digit per byte

    .segment "STARTUP"
reset:
    sei
    cld
    ldx #$40
    stx $4017
    ldx #$FF
    txs
    inx
    stx $2000
    stx $2001
    stx $4010
    bit $2002
@first:
    bit $2002
    bpl @first
    txa
@clear:
    sta $0000,x
    sta $0100,x
    sta $0300,x
    sta $0400,x
    sta $0500,x
    sta $0600,x
    sta $0700,x
    inx
    bne @clear
    lda #$FF                                ; sprites below the picture
@hide:
    sta $0200,x
    inx
    bne @hide
@second:
    bit $2002
    bpl @second
    jsr zerobss
    jsr copydata
    lda #<__STACKTOP__
    sta sp
    lda #>__STACKTOP__
    sta sp+1
    lda #$FF
    sta _changes
    lda #$0F                                ; pulse 1, pulse 2, triangle and noise may sound
    sta $4015
    jsr _main
@stay:
    jmp @stay

nmi:
    pha
    txa
    pha
    tya
    pha
    lda _ready
    beq @shown
    lda #0
    sta $2003
    lda #>_sprites
    sta $4014
    ldx #0
@run:
    lda _changes,x
    cmp #$FF
    beq @written
    sta mode
    lda _ctrl
    and #$FB
    bit mode
    bpl @along
    ora #$04
@along:
    sta $2000
    lda mode
    and #$3F
    sta $2006
    lda _changes+1,x
    sta $2006
    ldy _changes+2,x
    inx
    inx
    inx
@tile:
    lda _changes,x
    sta $2007
    inx
    dey
    bne @tile
    jmp @run
@written:
    lda #$FF
    sta _changes
    lda #0
    sta _ready
@shown:
    lda _ctrl
    sta $2000
    sta _scrolling
    lda _scroll
    sta $2005
    lda #0
    sta $2005
    inc _frame
    pla
    tay
    pla
    tax
    pla
irq:
    rti

_read_pad:
    lda #1
    sta $4016
    lda #0
    sta $4016
    ldx #8
@bit:
    lda $4016
    lsr a
    rol _pad
    dex
    bne @bit
    rts

    .segment "VECTORS"
    .word nmi, reset, irq

    .segment "CHARS"
    .incbin "tiles.chr"
