/**
 * The icons of the navigation and of buttons, by their names in lucide-static. The build reads the list, and writes
 * the icons into `dist/pages/icons.svg` (scripts/build-pages.mjs), a sprite that browsers load once.
 */
export const LINE_ICONS = [
  'arrow-down-wide-narrow',
  'arrow-left',
  'check',
  'chevron-down',
  'chevron-right',
  'copy',
  'download',
  'ellipsis',
  'funnel',
  'globe',
  'key-round',
  'layout-dashboard',
  'mail',
  'menu',
  'package',
  'pause',
  'pencil',
  'plus',
  'refresh-cw',
  'rocket',
  'search',
  'send',
  'server',
  'settings',
  'shopping-bag',
  'users',
  'x',
] as const;

export type LineIconName = (typeof LINE_ICONS)[number];
