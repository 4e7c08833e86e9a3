/** The texts about a mail server. */
export interface MailServerTexts {
  tlsOptions: Record<'smtp' | 'smtps', string>;
  /** @param user empty: without authentication */
  inWords: (facts: { host: string; port: string; tls: string; user: string }) => string;
  /** @param to a server, program or folder */
  withSender: (to: string, from: string) => string;
}

/** Describes a mail server, program or folder. @param described a result of `describeRoute` */
export function mailServerInWords(texts: MailServerTexts, described: string): string {
  const [, to = '', from = ''] = /^([^?]*)\?from=(.*)$/s.exec(described) ?? [];
  const url = /^smtps?:/.test(to) ? new URL(to) : undefined;
  const tls = texts.tlsOptions[url?.protocol === 'smtps:' ? 'smtps' : 'smtp'];
  const server = url && { host: url.hostname, port: url.port, tls, user: decodeURIComponent(url.username) };
  return texts.withSender(
    server === undefined ? to.replace(/^file:/, '') : texts.inWords(server),
    decodeURIComponent(from),
  );
}
