"""DNS look-ups of TXT records by the resolvers of the operator's system, and no others.

Other packages import `text_records` from app/net/http.py.
"""

from __future__ import annotations

import dns.exception
import dns.resolver

from app.i18n.messages import lazy_gettext as _l
from app.net.dial import Deadline, NoAnswer, in_words


def resolver() -> dns.resolver.Resolver:
    """A resolver as the system is configured now: `resolv.conf` may change while a process runs."""
    return dns.resolver.Resolver()


def text_records(name: str, *, seconds: float) -> list[str]:
    """The TXT records of a fully qualified name; empty where there are none. Raises NoAnswer."""
    try:
        with in_words(Deadline(seconds), passing=(dns.exception.DNSException, OSError)):
            answer = resolver().resolve(f"{name}.", "TXT", lifetime=seconds, search=False)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return []
    except dns.exception.Timeout as error:
        raise NoAnswer("timed_out", _l("The DNS did not answer in time.")) from error
    except (dns.exception.DNSException, OSError) as error:
        raise NoAnswer("not_resolved", _l("The DNS gave no answer that can be used.")) from error
    return [b"".join(record.strings).decode("utf-8", "replace") for record in answer]
