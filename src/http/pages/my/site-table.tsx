import { inBothForms } from '../../../licensing/core/identifiers';
import type { Child } from 'hono/jsx';
import type { MySite } from '../../../selfservice/by-mail';
import { Table, type Column } from '../kit/table';
import { useView } from '../view';

const nameOf = ({ identifier, activationType }: MySite) => inBothForms(identifier, activationType);

/** A table of the customer's sites. */
export function SiteTable<Site extends MySite>({
  caption,
  sites,
  licenseId,
  mayRemove,
  empty,
  more = [],
}: {
  caption: string;
  sites: Site[];
  /** the licence of each site, or one for all of them */
  licenseId: number | ((site: Site) => number);
  /** true if the customer may remove another site; a site without a slot can always be removed */
  mayRemove: boolean;
  empty: Child;
  /** columns after the site's name */
  more?: Column<Site>[];
}) {
  const { t, to, format, now } = useView();
  const texts = t.my.sites;
  const heldUntil = (site: Site) =>
    site.heldUntil !== null && site.heldUntil > now ? site.heldUntil : undefined;
  const licenseOf = typeof licenseId === 'number' ? () => licenseId : licenseId;
  return (
    <Table
      caption={caption}
      rows={sites}
      empty={empty}
      columns={[
        {
          title: texts.site,
          kind: 'name',
          cell: (site) => {
            const held = heldUntil(site);
            const about = [
              site.name,
              site.free && texts.staging,
              held !== undefined && texts.held(format.day(held)),
            ].filter(Boolean);
            return (
              <>
                {nameOf(site)}
                {about.length === 0 ? null : <span class="sub">{about.join(' · ')}</span>}
              </>
            );
          },
        },
        ...more,
        { title: texts.since, kind: 'time', cell: ({ activatedAt }) => format.localDay(activatedAt) },
        {
          title: '',
          kind: 'act',
          cell: (site) =>
            (mayRemove || site.free) && heldUntil(site) === undefined ? (
              <a
                class="btn btn-sm"
                href={to(`/my/licenses/${licenseOf(site)}/sites/${site.id}/remove`)}
                aria-label={texts.removeThe(nameOf(site))}
              >
                {texts.remove}
              </a>
            ) : null,
        },
      ]}
    />
  );
}
