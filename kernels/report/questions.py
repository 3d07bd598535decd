"""A question that leads a student to the mistake, without its line and without the edit."""

from __future__ import annotations

from collections.abc import Mapping

from kernels.report.causes import Cause, cause_of
from kernels.report.model import Report, first_error

QUESTIONS: Mapping[Cause, str] = {
    Cause.BARRIER_BEFORE_USE: "Which threads may read {array} before all others have written it?",
    Cause.BARRIER_AFTER_USE: "Which threads may still read {array} when others already write its next values?",
    Cause.NO_BARRIERS: "Where do all threads wait between writing {array}, reading it and writing it again?",
    Cause.REDUCTION_STEP: "Which thread wrote the value that your thread uses next? Has it surely finished?",
    Cause.WARP_EXCHANGE: "Threads of one warp share {array}. What makes one wait until another has written?",
    Cause.SAME_ELEMENT: "Which element of {array} does each thread write? Can you find two with the same one?",
    Cause.PLAIN_UPDATE: "Two threads add to one element of {array} at once. Which value does each of them read first?",
    Cause.BETWEEN_BLOCKS: "One block writes {array}, another reads it. How does the reader know that it is written?",
    Cause.CLUSTER: "Which block of the cluster may use {array} before another block is ready, or after it ended?",
    Cause.COPY_NOT_AWAITED: "An asynchronous operation goes on while its thread continues. Who waits for its end?",
    Cause.MISSING_FENCE: "Ordinary stores came just before. How does the asynchronous operation see their values?",
    Cause.ORDER: "If the threads ran in another order, which value would {array} have?",
    Cause.UNGUARDED_LOAD: "Which element of {array} does the last thread of the last block load? Does it exist?",
    Cause.UNGUARDED_STORE: "Which element of {array} does the last thread of the last block store? Does it exist?",
    Cause.NO_GUARD: "If the size isn’t a multiple of the block, which elements do the last threads use?",
    Cause.GUARD_TOO_WIDE: "What is the largest index of {array} that your conditions allow? Does this element exist?",
    Cause.SHARED_INDEX: "How many elements does {array} have in each dimension? Which largest index does a thread use?",
    Cause.NEGATIVE_INDEX: "For which thread is the index of {array} smallest? What is it there?",
    Cause.BARRIER_IN_BRANCH: "Does every thread of the block reach each barrier, for every size and in every round?",
    Cause.BARRIER_COUNT: "How many threads or bytes does the barrier wait for? How many come in each phase?",
    Cause.NOT_PADDED: "What do the cells of {array} hold where the tile lies outside the matrix?",
    Cause.LEFT_EARLY: "Some threads have no element of the output. Which cells of {array} must they still write?",
    Cause.NO_FIRST_VALUE: "Which value does {array} have the first time your kernel uses it?",
    Cause.OUTPUT_READ: "Which value does {array} have before your kernel stores its first result there?",
    Cause.CELLS_UNWRITTEN: "Which thread writes each cell of {array} that is read later? Is any cell left out?",
    Cause.ENDLESS_LOOP: "Follow the loop by hand. What changes in each round, and when does its condition fail?",
    Cause.INPUT_WRITTEN: "Which arrays are inputs, and which one is the output? Which ones does your kernel write?",
    Cause.MISALIGNED: "A wide access needs an address that is a multiple of its size. Does every thread have one?",
    Cause.STOPS: "What makes your kernel stop itself? For which thread, and for which sizes?",
    Cause.INDICES_EXCHANGED: "Write down row and column of one thread. Which of them comes first in each index?",
    Cause.OPERANDS_SWAPPED: "Which matrix gives the row of the product, and which one gives the column?",
    Cause.LAST_TILE: "How many tiles cover a row if its length isn’t a multiple of the tile?",
    Cause.SAME_TILE: "Which elements does a thread load in the second phase? Which index changes with the phase?",
    Cause.SUM: "What does the sum hold after the first phase, and what after the second?",
    Cause.PRECISION: "Which type has each number on its way to the output? How many digits does it keep?",
    Cause.OUTPUT_UNWRITTEN: "Which thread writes each element of the output? Is there one for every element?",
    Cause.WRONG_ELEMENTS: "Choose one incorrect element. Which inputs does it need, and which does its thread use?",
    Cause.UNDEFINED_NAME: "Where does your file declare each name that it uses, letter by letter?",
    Cause.SYNTAX: "Where does each statement end, and where each block?",
    Cause.OTHER_ERROR: "What did the compiler expect at this place? What did it find there?",
    Cause.PARAMETERS: "Which parameters does the exercise name, in which order and of which type?",
    Cause.FILE: "Which parts of your file belong to the kernel? Does the exercise allow the others?",
    Cause.LAUNCH: "How many threads, registers and bytes of shared memory does one block need? What are the limits?",
    Cause.OTHER: "What should your kernel do for one element, and what does it do?",
}


def question_of(report: Report) -> str:
    """The question about a report's cause, with the array of its first finding; "" if nothing went wrong."""
    cause = cause_of(report)
    if cause is None:
        return ""
    leading = first_error(report.findings, report.verdict)
    array = "" if leading is None else leading.array
    return QUESTIONS[cause].format(array=f"`{array}`" if array.isidentifier() else "the array")
