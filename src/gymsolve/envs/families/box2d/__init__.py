"""Box2D: LunarLander and its relatives, with a faster LunarLander that gives the same bits."""
