import type { Child } from 'hono/jsx';
import type { Language } from '../../../texts/language';
import { THEMES, useView } from '../view';

interface PreferencesProps {
  /** the path that the form is sent to */
  preferences: string;
  /** the languages that the page can be read in, by code */
  languages: Record<string, { language: Language }>;
}

/** The choice of theme and language, as a form. */
export function Preferences({
  preferences,
  languages,
  children,
}: PreferencesProps & { /** further buttons */ children?: Child }) {
  const { t, to, theme, language, path } = useView();
  const { kit } = t;
  return (
    <form class="prefs" method="post" action={to(preferences)}>
      <input type="hidden" name="back" value={path} />
      <div class="seg" role="group" aria-label={kit.theme}>
        {THEMES.map((one) => (
          <button
            type="submit"
            name="theme"
            value={one}
            {...(one === theme ? { 'aria-current': 'true' } : {})}
          >
            {kit.themes[one]}
          </button>
        ))}
      </div>
      {Object.entries(languages)
        .filter(([code]) => code !== language)
        .map(([code, { language: other }]) => (
          <button type="submit" class="btn-text" name="language" value={code} lang={code}>
            {other.name}
          </button>
        ))}
      {children}
    </form>
  );
}

/** The foot of a page without an account menu: help, the time zone, theme and language. */
export function Footer({ help, ...preferences }: PreferencesProps & { help?: Child }) {
  const { t, format } = useView();
  return (
    <footer class="foot">
      {help}
      <span>{t.kit.times(format.zone)}</span>
      <Preferences {...preferences} />
    </footer>
  );
}
