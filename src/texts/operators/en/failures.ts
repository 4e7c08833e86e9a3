import type { FailureTexts } from '../failures';

export const failures: FailureTexts = {
  mail: {
    ADDRESS_REFUSED: 'the mail server accepts no mail for this address',
    MAIL_REFUSED: 'the mail server refused this mail',
    SENDER_REFUSED: 'the mail server accepts no mail from this sender or this machine',
    PASSWORD_REFUSED: 'the mail server refused the user or the password',
    LATER: 'the mail server asked to try again later',
    TLS: "the connection could not be encrypted, or the mail server's certificate is not valid for its name",
    TIMEOUT: 'the mail server did not answer in time',
    NOT_RESOLVED: 'the name of the mail server was not found',
    NOT_CONNECTED: 'no mail server answers at the port that is set',
    SENDMAIL: 'the sendmail program failed or cannot be run',
    SENDMAIL_RIGHTS:
      'the sendmail program needs the rights of another user or group, which the unit of the service does not allow (NoNewPrivileges)',
    SENDMAIL_OWNER:
      'the program that configuration.php names as sendmail is not used, because it is not a known mail program that only root can change',
    FOLDER: 'the folder for mails cannot be written to',
    NO_CUSTOMER: 'the licence has no customer with an e-mail address',
    KEY_UNKNOWN: "the licence's key cannot be shown",
    ANSWER_UNKNOWN: 'its text was sealed with another secret of the service',
    NOBODYS: 'no customer has this address: not sent',
    UNKNOWN: 'for an unknown reason',
  },
  webhook: {
    STATUS: 'the other side answered with an error',
    CHALLENGED:
      'a CDN or firewall answered instead of the other side: exempt the address of the webhook in its settings',
    TIMEOUT: 'the other side did not answer within 15 seconds',
    ADDRESS_REFUSED: 'the name resolves to an address that webhooks may not reach',
    NOT_RESOLVED: 'the name of the other side cannot be resolved',
    TLS: "the connection could not be encrypted, or the other side's certificate is not valid for its name",
    NOT_CONNECTED: 'the other side cannot be reached, or closed the connection without an answer',
    INVALID_ANSWER: 'the answer is not HTTP',
    SECRET: "the webhook's secret cannot be opened: it was sealed with another secret of the service",
    UNKNOWN: 'for an unknown reason',
  },
  catchUp: {
    KEY_REFUSED: 'the shop refuses the API key: it was replaced, or may not read this',
    NOT_FOUND: 'this address has no such list',
    MOVED: 'the shop has another address, and the key is sent only to the entered one',
    RATE_LIMITED: 'the shop asks to wait longer than a run takes',
    TOO_LARGE: 'the answer is larger than 8 MiB',
    STATUS: 'the shop answered with an error',
    CHALLENGED: "a CDN or firewall answered instead of the shop: exempt the shop's API in its settings",
    TIMEOUT: 'the shop did not answer in time',
    ADDRESS_REFUSED: 'its address is not public, and its network is not allowed on the server',
    NOT_RESOLVED: 'its name cannot be resolved',
    TLS: "the connection could not be encrypted, or the shop's certificate is not valid for its name",
    NOT_CONNECTED: 'the shop cannot be reached, or closed the connection without an answer',
    INVALID_ANSWER: 'the answer is not such a list',
    SECRET: 'its API key cannot be opened: it was sealed with another secret of the service',
    UNKNOWN: 'for an unknown reason',
  },
  waits: {
    not_mapped: (sku) => `${sku === undefined ? 'the article' : `article “${sku}”`} has no plan yet`,
    unknown_order: (renews) =>
      renews === undefined
        ? 'the earlier order is not known'
        : `it renews “${renews}”, which is not known here yet`,
    too_many: () => 'it would issue more than 100 licences at once',
    reference_in_use: () => 'another licence has its order number',
    no_plan: () => 'its plan no longer exists',
    failed: () => 'it could not be processed, and the service tries again',
    no_article: () => 'the shop’s message names no article for it',
    bad_quantity: () => 'its quantity cannot be licensed',
    bad_article: () => 'its article’s name is too long, or looks like a licence key',
    unreadable: () => 'the shop’s message does not name the line',
    other: () => 'something is missing',
  },
  keysNotMailed: {
    test: 'it is a test order',
    nothing_issued: 'it has issued nothing',
    off: 'the shop hands out its keys itself',
    no_address: 'the order has no address yet',
    mail_off: 'mail is not set up',
    not_sent: 'not requested yet',
  },
  mailRights: (from) =>
    `If a mail server of this machine listens on port 25, enter it under Settings, or: licensing settings set mail_url smtp://localhost:25?from=${from}`,
};
