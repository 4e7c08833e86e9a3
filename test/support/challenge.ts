import { request as send, type IncomingMessage } from 'node:http';
import { startStaticSite, type StaticSite } from './static-site';

/** The response of a CDN to a program, with the public header that marks it. */
export const CHALLENGE = {
  status: 403,
  headers: { 'cf-mitigated': 'challenge', 'Content-Type': 'text/html; charset=UTF-8' },
  body: '<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>',
};

/** Starts a CDN in front of a web server. @param isChallenged selects the requests that the CDN stops */
export function startCdn(
  site: string,
  isChallenged: (request: IncomingMessage) => boolean,
): Promise<StaticSite> {
  return startStaticSite((incoming, response) => {
    if (isChallenged(incoming)) {
      response.writeHead(CHALLENGE.status, CHALLENGE.headers).end(CHALLENGE.body);
      return;
    }
    const { url = '', method, headers: sent } = incoming;
    // Connect from the client's own address, like a CDN that is transparent for the service.
    const localAddress = incoming.socket.remoteAddress;
    const onward = send(site + url, { method, headers: sent, localAddress }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
}

/** Reports whether Joomla's updater sent the request. */
export function isJoomla({ headers }: IncomingMessage): boolean {
  return headers['user-agent']?.includes('Joomla!/') === true;
}
