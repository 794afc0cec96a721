"""Metrics of updates, and the hyperparameters in force."""

from gymsolve.metrics.metric import (
    ACTION_VALUES,
    ACTOR_CRITICS,
    CONTINUOUS,
    ENTROPIES,
    EPSILON_GREEDY,
    REPLAYING,
    WITH_CREDIT,
    Metric,
    share,
)

DECADES = tuple(range(-9, 1))
"""Powers of ten of the histograms of gradients."""

LEARNING = (
    Metric(
        "train/loss",
        "what was minimised; for REINFORCE without the value function's part",
        better="down",
        priority=1,
    ),
    Metric(
        "train/policy_loss",
        "the policy's part; its sign and size say little by themselves",
        f"{ACTOR_CRITICS}, {CONTINUOUS}",
    ),
    Metric(
        "train/value_loss",
        "half squared (or Huber) error of the value function, in its own units; "
        "not for REINFORCE without a value baseline",
        ACTOR_CRITICS,
        better="down",
        low=0,
    ),
    Metric(
        "train/scaled_value_loss",
        "the value loss times `vf_coef`",
        ACTOR_CRITICS,
        better="down",
        low=0,
        priority=3,
    ),
    Metric(
        "train/entropy",
        "mean entropy of the policy; log(choices) is uniform, 0 is decided; for SAC and TQC that of actions "
        "between -1 and 1, of which log(2) per dimension is uniform",
        f"{ACTOR_CRITICS}, {ENTROPIES}",
        unit="nats",
        priority=1,
    ),
    Metric(
        "train/scaled_entropy", "the entropy times `ent_coef`", f"{ACTOR_CRITICS}, {ENTROPIES}", priority=3
    ),
    Metric(
        "train/grad_norm", "length of the gradient before clipping; of the policy's step for REINFORCE", low=0
    ),
    *(
        Metric(
            f"train/grad_norm_{part}",
            f"length of the gradient of {what}, in the last gradient step, before clipping",
            by,
            low=0,
            priority=3,
            condition=condition,
        )
        for part, what, by, condition in (
            ("trunk", "the layers that policy and value share", ACTOR_CRITICS, "when they share any"),
            ("policy", "what is the policy's alone", f"{ACTOR_CRITICS}, {CONTINUOUS}", ""),
            ("value", "what is the value function's alone, or of action values", "all", "when it is learned"),
        )
    ),
    share(
        "gradient/<part>_<size>",
        "share of the entries of a part's gradient (`trunk`, `policy`, `value`; last gradient step, before "
        "clipping) whose size is of this decade: `1e-4` is 0.0001 to 0.001, `zero` exactly 0",
        priority=3,
    ),
    Metric(
        "own/<metric>",
        "what an algorithm of your own returns under a name of its own",
        "own",
        priority=3,
        condition="with an algorithm of your own",
    ),
    share(
        "train/grad_clipped_share",
        "share of gradient steps that `max_grad_norm` shortened; of the policy's for REINFORCE",
        priority=3,
    ),
    Metric(
        "train/approx_kl",
        "how far the policy moved from the one that collected (estimate, never negative)",
        ACTOR_CRITICS,
        unit="nats",
        low=0,
        priority=1,
    ),
    share(
        "train/clip_fraction",
        "share of probability ratios beyond `clip_coef` (0.2 for A2C and REINFORCE)",
        ACTOR_CRITICS,
    ),
    Metric(
        "train/first_ratio",
        "mean probability ratio before the first gradient step; anything but 1 is a bug",
        ACTOR_CRITICS,
        low=0,
        precision=6,
        priority=3,
    ),
    Metric(
        "train/explained_variance",
        "1: the values predict the returns; 0: no better than their mean; less: worse; none without rewards",
        WITH_CREDIT,
        better="up",
        high=1,
        priority=1,
        may_be_nan=True,
    ),
    Metric("train/ratio", "mean probability ratio over the gradient steps", "ppo", low=0, priority=3),
    Metric("train/gradient_steps", "gradient steps per update", f"ppo, pqn, {REPLAYING}", low=0, priority=3),
    share("train/kl_stopped", "share of updates that `target_kl` ended early", "ppo", priority=3),
    Metric("train/q_mean", "mean value of the actions in minibatches, before each step", ACTION_VALUES),
    Metric(
        "train/td_error",
        "mean distance of those values from their targets",
        ACTION_VALUES,
        better="down",
        low=0,
    ),
    Metric(
        "train/q_spread",
        "mean distance between the highest and the lowest critic; 0 with one critic",
        CONTINUOUS,
        low=0,
        priority=3,
    ),
    Metric(
        "train/q_bias",
        "what critics said of actions when these were taken, minus what followed (discounted, with the "
        "entropy's share): mean over the last ten episodes",
        CONTINUOUS,
        condition="once an episode has ended that learning took part in",
    ),
    Metric(
        "train/overestimation",
        "that error as a share of the size (root mean square) of what followed; 1: as large as it",
        CONTINUOUS,
        condition="once an episode has ended that learning took part in",
    ),
    Metric("replay/size", "steps in the replay buffer", REPLAYING, unit="steps", low=0, priority=3),
    Metric(
        "replay/ratio",
        "how often a step is learned from: rows of minibatches per step collected",
        REPLAYING,
        low=0,
        priority=3,
    ),
    share(
        "train/unfinished_share",
        "share of steps left out because their episode was still running",
        "reinforce",
        better="down",
    ),
    Metric("train/step_rms", "root mean square of the parameters' change per update", low=0, priority=3),
    Metric("train/step_max", "largest change of a parameter per update", low=0, priority=3),
    share(
        "train/dormant_share",
        "share of hidden units whose mean size after the activation is below 0.025 of their layer's; of "
        "channels for convolutions",
        better="down",
    ),
    Metric(
        "train/feature_rank",
        "effective rank (Σλ)² / Σλ² of the policy's last hidden layer on a fixed set of observations",
        low=0,
        priority=3,
    ),
    Metric(
        "train/memory_effect",
        "what clearing the memory changes on a fixed set of observations: the share of likeliest actions, or "
        "the values by their own spread, whichever is more; 0 where nothing is remembered",
        ACTOR_CRITICS,
        low=0,
        priority=3,
        condition="with `net.memory`",
    ),
    share(
        "train/churn",
        "share of a fixed set of observations whose likeliest action one update changed; in a box, by a "
        "hundredth of half its range",
        priority=3,
    ),
    Metric(
        "train/terminal_correlation",
        "correlation of the value before an episode terminates with its last reward, over a rollout",
        low=-1,
        high=1,
        priority=3,
        may_be_nan=True,
        condition="when 8 episodes or more terminated in it, with different values and rewards",
    ),
)

HYPER = (
    Metric("hyper/learning_rate", "as scheduled, times the factor that `desired_kl` moves", low=0),
    Metric("hyper/gamma", "discount", low=0, high=1, priority=3),
    Metric("hyper/epsilon", "share of actions that are random", EPSILON_GREEDY, low=0, high=1),
    Metric("hyper/q_lambda", "of the targets", "pqn", low=0, high=1, priority=3),
    Metric(
        "hyper/ent_coef",
        "weight of the entropy bonus; for SAC and TQC the temperature, learned unless it is set",
        f"{ACTOR_CRITICS}, {ENTROPIES}",
        low=0,
        priority=3,
    ),
    Metric("hyper/exploration_noise", "spread of the noise on actions", "td3", low=0, priority=3),
    Metric("hyper/policy_noise", "spread of the noise on the actions of targets", "td3", low=0, priority=3),
    Metric("hyper/noise_clip", "limit of that noise", "td3", low=0, priority=3),
    Metric(
        "hyper/bonus_coef",
        "weight of the bonus's advantages",
        "ppo, a2c",
        low=0,
        priority=3,
        condition="with a bonus",
    ),
    Metric("hyper/vf_coef", "weight of the value loss", ACTOR_CRITICS, low=0, priority=3),
    Metric("hyper/max_grad_norm", "limit of the gradient's length", low=0, priority=3),
    Metric("hyper/gae_lambda", "of the advantages", "ppo, a2c", low=0, high=1, priority=3),
    Metric("hyper/num_epochs", "passes over a rollout", "ppo, pqn", low=0, priority=3),
    Metric("hyper/clip_coef", "limit of the probability ratio", "ppo", low=0, priority=3),
    Metric("hyper/clip_value", "limit of the value's change", "ppo", low=0, priority=3, condition="when set"),
    Metric("hyper/target_kl", "KL that ends an update", "ppo", low=0, priority=3, condition="when set"),
)
