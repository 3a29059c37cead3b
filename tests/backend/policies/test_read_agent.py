"""A person's own agent: what is read of a file, and that nothing in it is run."""

from __future__ import annotations

import io
import json
import pickle  # noqa: TID251  what must not be run
import zipfile

import gymnasium
import numpy as np
import pytest
import safetensors.numpy
import torch
from stable_baselines3 import A2C, DQN, PPO

from backend.errors import InputError
from backend.policies import models, read_agent
from backend.policies.agent import agent_of
from backend.policies.collected import experience_of
from backend.policies.explanation import PolicyTarget
from backend.policies.read_agent import ReadAgent, brought
from tests.fake import FakeRun

CARTPOLE = models.PolicyModel("cartpole", {}, None, {})


def read(name, data, model=CARTPOLE):
    found = ReadAgent().explain(model, brought(name, data, 50), PolicyTarget(), None, FakeRun())
    return experience_of(found)


def saved(model):
    out = io.BytesIO()
    model.save(out)
    return out.getvalue()


def with_file(data, name, content):
    """The zip with one file in another's place."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.namelist():
            if entry != name:
                new.writestr(entry, old.read(entry))
        new.writestr(name, content)
    return out.getvalue()


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.fixture(scope="module")
def ppo():
    chosen = {"net_arch": [16, 8], "activation_fn": torch.nn.ReLU}
    return PPO("MlpPolicy", gymnasium.make("CartPole-v1"), policy_kwargs=chosen, device="cpu")


@pytest.mark.parametrize("kind", [PPO, A2C, DQN])
def test_a_saved_agent_acts_as_it_did(kind):
    model = kind("MlpPolicy", gymnasium.make("CartPole-v1"), device="cpu", seed=1)
    agent = agent_of(read("agent.zip", saved(model)))
    states = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    expected, _ = model.predict(states, deterministic=True)
    np.testing.assert_array_equal(agent.act(states), expected)
    assert agent.network.head == ("values" if kind is DQN else "logits")


def test_the_activation_is_that_of_the_file(ppo):
    agent = agent_of(read("agent.zip", saved(ppo)))
    assert agent.network.activation == "relu"
    states = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    with torch.no_grad():
        odds = ppo.policy.get_distribution(torch.from_numpy(states)).distribution.probs.numpy()
    np.testing.assert_allclose(agent.probabilities(states), odds, atol=1e-5)


@pytest.mark.parametrize("name", ["data", "pytorch_variables.pth", "policy.optimizer.pth"])
def test_a_hostile_file_beside_the_weights_is_never_opened(ppo, tmp_path, name):
    ran = tmp_path / "ran"
    hostile = pickle.dumps(Bomb(ran))
    content = hostile
    if name == "data":
        import base64

        told = {"policy_class": {":type:": "x", ":serialized:": base64.b64encode(hostile).decode()}}
        content = json.dumps(told).encode()
    data = with_file(saved(ppo), name, content)
    found = read("agent.zip", data)
    weights = ppo.policy.state_dict()["action_net.weight"].numpy()
    np.testing.assert_array_equal(found.weights()["2.weight"], weights)
    assert not ran.exists()


def test_hostile_weights_are_refused_and_not_run(ppo, tmp_path):
    ran = tmp_path / "ran"
    bomb = io.BytesIO()
    torch.save({"action_net.weight": Bomb(ran)}, bomb)
    for content in (bomb.getvalue(), pickle.dumps(Bomb(ran)), b"", b"PK\x03\x04 nothing"):
        with pytest.raises(InputError, match="nothing in it was run") as refused:
            read("agent.zip", with_file(saved(ppo), "policy.pth", content))
        assert "agent.zip" in str(refused.value)
    assert not ran.exists()


def test_a_bomb_of_a_zip_is_not_unpacked(ppo, monkeypatch):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("policy.pth", bytes(3_000_000))
    monkeypatch.setattr(read_agent, "MOST_UNPACKED", 1_000_000)
    with pytest.raises(InputError, match="unpacks to more than 1 MB"):
        read("agent.zip", out.getvalue())


def test_what_is_no_agent_says_so(ppo, tmp_path):
    with pytest.raises(InputError, match="no file of an agent"):
        brought("agent.pkl", b"1", 50)
    with pytest.raises(InputError, match=r"more than 0\.001 MB"):
        brought("agent.zip", bytes(2000), 0.001)
    other = io.BytesIO()
    torch.save({"features.0.weight": torch.zeros(2, 2)}, other)
    with pytest.raises(InputError, match="no policy of PPO"):
        read("agent.zip", with_file(saved(ppo), "policy.pth", other.getvalue()))
    with pytest.raises(InputError, match="8 numbers enter"):
        read("agent.zip", saved(ppo), models.PolicyModel("lunarlander", {}, None, {}))
    with pytest.raises(InputError, match="Choose the environment"):
        read("agent.zip", saved(ppo), models.PolicyModel("own", {}, None, {}))


def test_weights_as_safetensors_with_and_without_a_word_on_the_network():
    generator = np.random.default_rng(0)
    weights = {
        "0.weight": generator.normal(size=(8, 4)).astype(np.float32),
        "0.bias": np.zeros(8, dtype=np.float32),
        "1.weight": generator.normal(size=(2, 8)).astype(np.float32),
        "1.bias": np.zeros(2, dtype=np.float32),
    }
    plain = agent_of(read("a.safetensors", safetensors.numpy.save(weights)))
    assert (plain.network.activation, plain.network.head) == ("tanh", "logits")
    told = {"network": json.dumps({"activation": "relu", "head": "values"})}
    agent = agent_of(read("a.safetensors", safetensors.numpy.save(weights, told)))
    state = np.array([[0.1, -0.2, 0.3, 0.4]])
    hidden = np.maximum(state @ weights["0.weight"].T.astype(float), 0)
    np.testing.assert_allclose(agent.outputs(state), hidden @ weights["1.weight"].T, rtol=1e-6)
    for data in (b"", b"\xff" * 40, safetensors.numpy.save(weights, {"network": "[1]"}),
                 safetensors.numpy.save(weights)[:-9]):  # fmt: skip
        with pytest.raises(InputError, match="cannot be read"):
            read("a.safetensors", data)
