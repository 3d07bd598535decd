"""The plots of an experiment's page: all that suit it, or the one that the page's address asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from kernels.experiment.plot.chosen import Choices, choices, default_plots, plot
from kernels.experiment.plot.model import KERNEL, Kind, NoPlot, Plot, Request
from kernels.experiment.quantities import NoSuchQuantity, Quantity
from kernels.experiment.result import PointResult

FIELDS = ("kind", "y", "x", "by", "panels")
"""The parts of an address that choose a plot, as the command's options do."""

_LONGEST = 60
_KINDS: Mapping[str, str] = {
    Kind.LINE: "Lines",
    Kind.BARS: "Bars",
    Kind.HEATMAP: "Heat map",
    Kind.MULTIPLES: "Small multiples",
    Kind.SCATTER: "Points of two quantities",
    Kind.ROOFLINE: "Roofline",
    Kind.PARETO: "Best of two quantities",
}

Options = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """The plot that an address asks for. given: only what it names, to repeat it in links."""

    given: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, args: Mapping[str, str]) -> Asked:
        return cls({name: args[name][:_LONGEST] for name in FIELDS if args.get(name)})

    @property
    def query(self) -> str:
        """To append to an address: "?y=loads"; "" for the plots that suit the experiment."""
        return f"?{urlencode(self.given)}" if self.given else ""

    def request(self) -> Request:
        """Raise NoPlot for a kind that there isn't."""
        if (kind := self.given.get("kind")) and kind not in _KINDS:
            raise NoPlot(f"`{kind}` isn't a kind of plot. Use {', '.join(Kind)}.")
        return Request.from_plain(self.given) or Request()


@dataclass(frozen=True, slots=True)
class Pictures:
    """The plots of a page.

    options: what each field of the choice offers, as (value, title)
    mistake: why the plot that was asked for can't be drawn; "" if it can
    """

    plots: list[Plot]
    asked: Asked
    options: Mapping[str, Options]
    mistake: str


def pictures(results: Sequence[PointResult], own: Request | None, asked: Asked) -> Pictures:
    """The plot that was asked for. Without one, or if it can't be drawn: the experiment's own, and others.

    own: the plot of the experiment's file
    """
    found, mistake = [], ""
    if asked.given:
        try:
            found = [plot(results, asked.request())]
        except (NoPlot, NoSuchQuantity) as error:
            mistake = str(error)
    plots = found or list(default_plots(results, own))
    return Pictures(plots, asked, _options(choices(results)) if plots else {}, mistake)


def _options(offered: Choices) -> Mapping[str, Options]:
    axes = [(axis, "kernel" if axis == KERNEL else axis) for axis in offered.axes]
    quantities = [(what.name, _title(what)) for what in offered.quantities]
    fitting: Options = [("", "what fits")]
    several = {"panels": [("", "none"), *axes]} if len(axes) > 2 else {}
    return {
        "y": [*fitting, *quantities],
        "x": [*fitting, *axes, *quantities],
        "by": [*fitting, *axes],
        "kind": [*fitting, *((str(kind), title) for kind, title in _KINDS.items())],
        **several,
    }


def _title(what: Quantity) -> str:
    return ", ".join(part for part in (what.title, what.speed_unit, what.basis.value) if part)
