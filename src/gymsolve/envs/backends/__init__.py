"""Vector backends, each behind `gymsolve.envs.contract.Envs`."""
