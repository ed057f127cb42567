"""The post: letters are handed to an SMTP server, or only shown."""

from __future__ import annotations

import smtplib
import ssl
import sys
from typing import Protocol, TextIO

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from headrace.errors import EnvironmentFault, HeadraceError
from headrace.mail.letter import Letter, Undeliverable
from headrace.project.model import Mail

ATTEMPTS = 5


class Post(Protocol):
    """Takes letters."""

    def send(self, letter: Letter, topic: str) -> None:
        """Hand one letter over; Undeliverable if the server will never take it."""

    def close(self) -> None:
        """Send no more."""


class Shown:
    """Writes each letter out and sends nothing."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout

    def send(self, letter: Letter, topic: str) -> None:
        body = letter.text.rstrip().replace("\n", "\n  ")
        print(f"To: {letter.to}\nSubject: {letter.subject}\n\n  {body}\n", file=self._out, flush=True)

    def close(self) -> None:
        """Nothing is open."""


class Smtp:
    """One connection to an SMTP server, opened when it is needed and again when it was lost."""

    def __init__(self, mail: Mail, wait: float = 1.0) -> None:
        """Between attempts it waits `wait` seconds at first, then twice as long each time."""
        self._mail = mail
        self._wait = wait
        self._connection: smtplib.SMTP | None = None

    def send(self, letter: Letter, topic: str) -> None:
        again = Retrying(
            retry=retry_if_exception_type(_Temporary),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(self._wait, max=30),
            reraise=True,
        )
        try:
            again(self._try, letter, topic)
        except _Temporary as error:
            raise EnvironmentFault(
                f"the mail server {self._mail.host}:{self._mail.port} took no letter in {ATTEMPTS} attempts "
                f"({error}); see `mail` in the target's conf, then start again: it goes on where it was"
            ) from None

    def close(self) -> None:
        if self._connection is not None:
            try:
                self._connection.quit()
            except (OSError, smtplib.SMTPException):
                self._connection.close()
        self._connection = None

    def _try(self, letter: Letter, topic: str) -> None:
        connection = self._opened()
        try:
            connection.send_message(letter.message(self._mail.sender, topic))
        except smtplib.SMTPNotSupportedError as error:  # an address that this server cannot write
            raise Undeliverable(str(error)) from None
        except smtplib.SMTPRecipientsRefused as error:
            raise self._judged(*next(iter(error.recipients.values())), Undeliverable) from None
        except smtplib.SMTPSenderRefused as error:
            raise self._judged(error.smtp_code, error.smtp_error, EnvironmentFault) from None
        except smtplib.SMTPResponseException as error:
            raise self._judged(error.smtp_code, error.smtp_error, Undeliverable) from None
        except (OSError, smtplib.SMTPException) as error:
            self.close()
            raise _Temporary(str(error) or type(error).__name__) from None

    def _judged(self, code: int, response: str | bytes, permanent: type[HeadraceError]) -> Exception:
        """What a refusal means: from 500 on it is permanent, below it is temporary."""
        self.close()  # so that no half-sent letter remains
        words = f"{code} {_words(response)}"
        return permanent(words) if code >= 500 else _Temporary(words)

    def _opened(self) -> smtplib.SMTP:
        if self._connection is None:
            try:
                self._connection = _open(self._mail)
            except (smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError) as error:
                message = f"the mail server {self._mail.host} does not let us in: {error}; see `mail` in the conf"
                raise EnvironmentFault(message) from None
            except (OSError, smtplib.SMTPException) as error:
                raise _Temporary(str(error) or type(error).__name__) from None
        return self._connection


def _open(mail: Mail) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if mail.security == "tls":
        opened: smtplib.SMTP = smtplib.SMTP_SSL(mail.host, mail.port, timeout=mail.timeout, context=context)
    else:
        opened = smtplib.SMTP(mail.host, mail.port, timeout=mail.timeout)
    try:
        if mail.security == "starttls":
            opened.starttls(context=context)
        if mail.username is not None:
            opened.login(mail.username, mail.password or "")
    except BaseException:
        opened.close()
        raise
    return opened


class _Temporary(Exception):
    """A failure that may not happen again."""


def _words(response: str | bytes) -> str:
    return " ".join((response.decode(errors="replace") if isinstance(response, bytes) else response).split())
