"""Every address below `/api`, and its handler.

Pages ask for these through `static/addresses.js`; a test compares both tables.
"""

from gymsolve.web.route import Route

_RUN = "/runs/{run}"
_EPISODE = "/inspect/{run}/{episode}"

ROUTES: tuple[Route, ...] = (
    Route("GET", "/runs", "reading:show_runs"),
    Route("GET", "/settings", "reading:name_settings"),
    Route("GET", _RUN, "reading:show_run"),
    Route("GET", f"{_RUN}/follow", "reading:follow_run"),
    Route("GET", f"{_RUN}/closer", "reading:show_closer"),
    Route("GET", f"{_RUN}/alerts", "analysing:show_alerts"),
    Route("GET", f"{_RUN}/report.html", "reading:send_report"),
    Route("GET", f"{_RUN}/videos/{{name}}", "reading:send_video"),
    Route("GET", f"{_RUN}/posters/{{name}}", "reading:send_poster"),
    Route("GET", "/compare", "analysing:compare_runs"),
    Route("GET", "/recipes", "reading:name_recipes"),
    Route("GET", "/play/choices", "reading:list_playable"),
    Route("POST", "/runs", "acting:start"),
    Route("POST", "/runs/tag", "editing:tag"),
    Route("POST", "/runs/delete", "editing:delete"),
    Route("POST", f"{_RUN}/rename", "editing:rename"),
    Route("POST", f"{_RUN}/stop", "acting:stop"),
    Route("POST", f"{_RUN}/resume", "acting:resume"),
    Route("POST", f"{_RUN}/fork", "acting:fork"),
    Route("POST", f"{_RUN}/fix", "acting:try_fix"),
    Route("POST", f"{_RUN}/report", "acting:write_report"),
    Route("POST", f"{_RUN}/logbook", "acting:write_note"),
    Route("GET", f"{_EPISODE}/review", "reviewing:show_prompt"),
    Route("GET", f"{_EPISODE}/review/answers", "reviewing:show_answers"),
    Route("GET", f"{_EPISODE}/review/picture", "reviewing:send_picture"),
    Route("POST", f"{_EPISODE}/review", "reviewing:send_prompt"),
    Route("GET", "/inspect", "inspecting:list_runs"),
    Route("GET", "/inspect/{run}", "inspecting:show_run"),
    Route("GET", _EPISODE, "inspecting:show_episode"),
    Route("GET", f"{_EPISODE}/rows", "inspecting:send_rows"),
    Route("GET", f"{_EPISODE}/frames", "inspecting:send_frames"),
    Route("GET", f"{_EPISODE}/planes", "inspecting:send_planes"),
    Route("GET", f"{_EPISODE}/credit", "inspecting:send_credit"),
    Route("GET", f"{_EPISODE}/csv", "inspecting:send_csv"),
)
