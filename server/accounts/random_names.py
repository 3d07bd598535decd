"""Random names for people who choose none: two friendly words and a number."""

from __future__ import annotations

import re
import secrets

_FIRST_WORDS = (
    "Agile Amber Ample Azure Balmy Bold Brave Breezy Bright Brisk Calm Candid Cheery Chipper Civil Clever "
    "Copper Coral Cosy Crisp Curious Dapper Daring Deft Eager Early Earnest Easy Elder Fair Fleet Fond Frank "
    "Fresh Gentle Glad Golden Grand Green Handy Happy Hardy Hazel Honest Humble Indigo Ivory Jade Jolly Jovial "
    "Keen Kind Lilac Lively Loyal Lucid Lucky Lunar Maple Mellow Merry Mild Mint Misty Modest Neat Nimble "
    "Noble Olive Opal Patient Pearl Plucky Polite Proud Quick Quiet Rapid Ready Robust Rosy Ruby Russet Sage "
    "Scarlet Sharp Silver Sincere Solar Spry Steady Stellar Sunny Swift Teal Tidy Topaz Trusty Velvet Vivid "
    "Warm Wise Witty Young Zesty"
)
_SECOND_WORDS = (
    "Badger Beaver Bison Bittern Bobcat Bunting Buzzard Camel Caribou Cheetah Chough Cicada Cobra Condor Corgi "
    "Cormorant Coyote Crane Cricket Curlew Dingo Dipper Dolphin Dormouse Dove Dragonfly Dunlin Eagle Egret "
    "Eider Elk Ermine Falcon Ferret Finch Firefly Flamingo Fox Gannet Gazelle Gecko Gibbon Goldcrest Grebe "
    "Grouse Gull Hare Harrier Hawk Hedgehog Heron Hoopoe Ibex Ibis Iguana Impala Jackdaw Jaguar Jay Kestrel "
    "Kingfisher Kite Koala Kudu Lapwing Lark Lemur Leopard Linnet Llama Lynx Magpie Manatee Marmot Marten "
    "Martin Merlin Moose Narwhal Newt Nightjar Ocelot Oriole Osprey Otter Owl Panda Pangolin Pelican Penguin "
    "Petrel Pika Pipit Plover Puffin Puma Quail Rabbit Raven Reindeer Robin Salmon Seal Shrew Skylark Sparrow "
    "Squirrel Starling Stoat Stork Swallow Swan Tapir Tern Thrush Toucan Turtle Vole Walrus Wombat Wren Yak "
    "Zebra"
)
FIRST, SECOND = _FIRST_WORDS.split(), _SECOND_WORDS.split()
_SMALLEST, _LARGEST = 100, 9999
_FORM = re.compile(rf"(?:{'|'.join(FIRST)}) ?(?:{'|'.join(SECOND)}) ?\d+", re.IGNORECASE)


def draw_name() -> str:
    number = _SMALLEST + secrets.randbelow(_LARGEST + 1 - _SMALLEST)
    return f"{secrets.choice(FIRST)} {secrets.choice(SECOND)} {number}"


def looks_random(name: str) -> bool:
    return _FORM.fullmatch(name) is not None
