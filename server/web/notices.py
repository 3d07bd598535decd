"""Notices after a form: the address names one, and its text is here."""

from __future__ import annotations

from flask import Flask, request

NOTICES: dict[str, str] = {
    "signed-out": "You are signed out.",
    "password-changed": "Your password is changed. Other browsers were signed out.",
    "profile-saved": "Your profile is saved.",
    "listed": "You are listed on leaderboards again.",
    "unlisted": "You are no longer listed. Other students see no line of yours.",
    "session-ended": "That browser is signed out.",
    "sessions-ended": "All other browsers are signed out.",
    "token-revoked": "The token no longer works.",
    "already-in": "You are in this course already.",
    "password-set": "Your password is set, and you are signed in.",
    "chosen": "This submission counts from now on.",
    "joined": "You are in the course now.",
    "taken-back": "Grading cancelled.",
    "already-over": "Too late: it is already graded or cancelled, or is being regraded. Nothing changed.",
    "tried-again": "Grading starts again.",
    "member-added": "Person added. Invite people who never signed in, and new staff who joined with a code.",
    "member-changed": "Role and section saved. New staff who joined with a code need an invitation.",
    "member-dropped": "Person dropped. Their submissions stay.",
    "member-back": "Person restored.",
    "code-made": "New code created. The old code no longer works.",
    "code-withdrawn": "The code no longer works.",
    "roster-imported": "Roster imported.",
    "assignment-set": "Assignment created.",
    "assignment-changed": "Assignment saved.",
    "assignments-ordered": "Order saved. Students see their assignments in this order.",
    "assignment-deleted": "Assignment deleted.",
    "assignment-updated": "Assignment updated. If its leaderboards are empty now, choose “Regrade all” to fill them.",
    "extension-granted": "Extension granted.",
    "extension-withdrawn": "Extension removed.",
    "grade-corrected": "Grade saved.",
    "pair-looked-at": "Marked as looked at. The pair is folded away at the end of the page.",
    "pair-taken-back": "The pair is listed again.",
    "rubric-saved": "Rubric saved.",
    "rubric-given": "Points by the rubric saved.",
    "exercise-checking": "The check started.",
    "exercise-discarded": "Draft discarded.",
    "exercise-is-published": "No draft saved: this is a published version already.",
    "exercise-published": "Version published. Assignments keep theirs until you update them.",
    "exercise-saved": "Draft saved.",
    "exercise-unchanged": "The draft has these files already. Nothing changed.",
    "regrade-begun": "Regrade started.",
    "regrade-staged": "Regrade staged. Nothing changes until you apply it.",
    "regrade-applied": "Regrade applied. The new verdicts count.",
    "regrade-dropped": "Staged regrade dropped. Nothing changed.",
    "regrade-cancelled": "Waiting regrades cancelled. Their submissions keep their verdicts.",
    "version-staged": "The new version is being tried. Nothing changes until you apply it.",
    "version-used": "The assignment uses this version now.",
    "worker-told": "Request sent to the worker. It answers within a few seconds.",
    "note-added": "Note added. Only course staff see it.",
    "view-ended": "You no longer view the course as a student.",
    "note-removed": "Note removed.",
    "announcement-published": "Announcement published.",
    "announcement-changed": "Announcement saved.",
    "announcement-withdrawn": "Announcement withdrawn. Students no longer see it.",
    "comment-added": "Comment stored.",
    "comment-removed": "Comment removed.",
    "question-settled": "The question is off the list of open questions.",
    "request-sent": "Request sent. Course staff’s answer will appear here.",
    "request-withdrawn": "Request withdrawn.",
    "request-answered": "Request answered. The student sees your answer.",
    "course-saved": "Course settings saved.",
    "course-created": "Course created. Check its settings, then add people and assignments.",
    "course-copied": "Course copied. Check its assignments and their dates.",
    "creator-added": "This person can create courses now.",
    "creator-removed": "This person can’t create courses any more.",
    "course-deleted": "Course deleted.",
    "experiment-started": "Experiment started. Its points run after all submissions.",
    "experiment-cancelled": "Experiment cancelled. Its results stay.",
    "experiment-over": "Too late: the experiment is already over.",
    "experiment-retried": "The points with a system error run again.",
    "experiment-not-retried": "There is nothing to retry in this experiment.",
    "experiment-too-many": "Too many experiments are running. Wait for one.",
    "experiment-shared": "The class sees this experiment now, without names.",
    "experiment-hidden": "The class no longer sees this experiment.",
    "experiment-pinned": "The assignment’s page links to this experiment now.",
    "experiment-unpinned": "No assignment’s page links to this experiment now.",
}


def attach_notices(app: Flask) -> None:
    """Give templates `notice()`."""
    app.jinja_env.globals["notice"] = notice


def notice() -> str:
    """The notice of this page; "" for none. Only texts from this file: anyone can write an address."""
    return NOTICES.get(request.args.get("notice", ""), "")
