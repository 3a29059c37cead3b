"""What oneDNN's matrix products gain on this processor, for the bundled model on the CPU.

- `pass_gain_512`: seconds of a plain forward pass over 512 tokens as transformers does it, over the
  same pass with the linear layers of `backend.tokens.products`; the median of pairs timed one after
  the other.
- `max_abs_difference`: between the logits of the two.

Run with: python -m bench.products [--json] [--repeats N] [--threads N]
"""

from __future__ import annotations

from statistics import median

from bench.contribution_weights import load, plain_model, seconds
from bench.report import arguments, report

LENGTH = 512


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=7, help="timed pairs")
    parser.add_argument("--threads", type=int, help="CPU threads; default: torch's own choice")
    chosen = parser.parse_args()
    import torch

    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    quick, plain = load().hf, plain_model()
    ids = (torch.arange(LENGTH)[None] * 7919) % plain.config.vocab_size
    with torch.no_grad():
        apart = float((plain(ids).logits - quick(ids).logits).abs().max())
        times = [
            (seconds(lambda: plain(ids)), seconds(lambda: quick(ids)))
            for _ in range(chosen.repeats)
        ]
    figures = {
        "pass_gain_512": median(a / b for a, b in times),
        "max_abs_difference": apart,
    }
    rows = [
        ("pass of transformers, 512 tokens", median(a for a, _ in times), "s"),
        ("the same through oneDNN", median(b for _, b in times), "s"),
        ("torch threads", torch.get_num_threads(), ""),
    ]
    libraries = ("torch", "transformers")
    report(("what", "median", "unit"), rows, figures, as_json=chosen.json, libraries=libraries)


if __name__ == "__main__":
    main()
