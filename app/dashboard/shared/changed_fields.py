"""Finds the fields of an edit form that the user has changed.

A browser sends every control of a form. A value that came back as it was shown is no change. So it is not
validated again, does not undo what another request changed meanwhile, and loses nothing that a control can't
show (which of the two hours at the end of summer time, or how lines are broken).
"""

from __future__ import annotations

from app.input.data import RequestData
from app.input.fields import DateTimeField, ListField, SentField, UploadField
from app.input.forms import IdsField, ResourceForm

MANY = (ListField, IdsField, UploadField)


def touched(fields: RequestData, shown: ResourceForm) -> RequestData:
    """`fields` without those that came back as the form `shown` had them."""
    same = {name for name in fields if name in shown and is_as_shown(fields, shown[name])}
    return RequestData(
        (f"{name}[{index}]", value) for name, index, value in fields.pairs() if name not in same
    )


def is_as_shown(fields: RequestData, field: SentField) -> bool:
    value, shown = fields.last(field.name), field.raw_text()
    if isinstance(field, MANY) or not isinstance(value, str):
        return False
    if isinstance(field, DateTimeField):  # a control has a T between, and leaves out seconds that are 0
        return value in {shown, (moment := shown.replace(" ", "T")), moment.removesuffix(":00")}
    return value.split("\r\n") == shown.split("\n")  # a control breaks lines by CR LF
