"""The inspector: one episode step by step, with everything the policy saw, computed and did."""
