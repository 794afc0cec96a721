"""MiniGrid: grids as codes, missions as words."""
