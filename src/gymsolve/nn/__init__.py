"""Networks: bodies, action heads, normalisers, and the policy made of them (torch)."""
