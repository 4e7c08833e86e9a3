import { challengerOf } from '../base/challenge';
import { API_PATH } from '../licensing/api';
import type { Challenge } from '../texts/operators/doctor';
import { XML_PATH } from './update-xml/place';

/** The parts of the paths that Joomla's updater, extensions and payment services request. */
const NEEDED = [`${API_PATH}/`, XML_PATH];

/** Returns what a CDN or firewall sent in place of the site; undefined for a response of the site. */
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
