import { challengerOf } from '../base/challenge';
import { API_PATH } from '../licensing/api';
import type { Challenge } from '../texts/operators/doctor';
import { XML_PATH } from './update-xml/location';

/** The parts of the paths that Joomla's updater, extensions and payment services request. */
const NEEDED = [`${API_PATH}/`, XML_PATH];

/** Returns the response if a CDN or firewall sent it instead of the site; undefined if the site sent it. */
export function readChallenge(
  url: URL,
  status: number,
  header: Parameters<typeof challengerOf>[0],
): Challenge | undefined {
  const by = challengerOf(header);
  if (by === undefined) return undefined;
  const { origin, pathname } = url;
  const paths = NEEDED.some((path) => pathname.includes(path)) ? NEEDED : [...NEEDED, pathname];
  return { by, url: origin + pathname, status, paths };
}
