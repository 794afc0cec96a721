"""Train CartPole, load the best policy, and balance the pole with it by hand.

Run it with: python examples/solve_cartpole.py
"""

import gymnasium as gym

import gymsolve


def main() -> None:
    outcome = gymsolve.train("CartPole-v1", seed=1)
    print(f"{outcome.status} after {outcome.env_steps} steps: mean return {outcome.mean_reward}")

    policy = gymsolve.load_policy(outcome.run)
    env = gym.make("CartPole-v1")
    obs, _ = env.reset(seed=7)
    total, over = 0.0, False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(policy.act(obs))
        total += float(reward)
        over = terminated or truncated
    print(f"one episode by hand: {total:.0f}")

    result = gymsolve.evaluate(outcome.run, episodes=100)
    print(f"100 episodes: {result.mean:.1f}")


if __name__ == "__main__":
    main()
