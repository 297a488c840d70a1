"""What has a person changed of a page that was filled in with what is stored?

A browser sends every control of a form. What came back as it was shown is no change: it is not checked once
more, does not undo what somebody else changed meanwhile, and loses nothing that a control can't show (of the
hour that the end of summer time repeats, or of how lines are broken).
"""

from __future__ import annotations

from app.fields import DateTimeField, ListField, SentField, UploadField
from app.forms import IdsField, ResourceForm
from app.sent import Sent

MANY = (ListField, IdsField, UploadField)


def touched(fields: Sent, shown: ResourceForm) -> Sent:
    """`fields` without those that came back as the form `shown` had them."""
    same = {name for name in fields if name in shown and is_as_shown(fields, shown[name])}
    return Sent((f"{name}[{index}]", value) for name, index, value in fields.pairs() if name not in same)


def is_as_shown(fields: Sent, field: SentField) -> bool:
    value, shown = fields.last(field.name), field.written()
    if isinstance(field, MANY) or not isinstance(value, str):
        return False
    if isinstance(field, DateTimeField):  # a control has a T between, and leaves out seconds that are 0
        return value in {shown, (moment := shown.replace(" ", "T")), moment.removesuffix(":00")}
    return value.split("\r\n") == shown.split("\n")  # a control breaks lines by CR LF
