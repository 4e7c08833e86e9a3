import { hash } from 'node:crypto';
import type { Context } from '../../context';
import type { MailContent } from '../../../mail/render';
import { useView } from '../view';
import { PanelBody, Panel } from './panel';

/**
 * Shows a mail as a mail program does. The sandbox allows no scripts, forms or windows, and gives the frame no origin.
 */
function MailFrame({ html, title }: { html: string; title: string }) {
  // Without the target, a link would replace the mail with the browser's error page for a forbidden frame.
  const shown = html.replace('<head>', '$&<base target="_blank">');
  return <iframe class="mail-frame" sandbox="" srcdoc={shown} title={title} />;
}

/**
 * Allows the styles of this mail, each by its hash, in the policy of the page. The frame has the same policy, so it
 * loads nothing from another host.
 */
export function allowMailStyles(ctx: Context, html: string): void {
  const styles = html.match(/(?<=<style>)[^]*?(?=<\/style>)|(?<=\sstyle=")[^"]*/g);
  const hashes = [...new Set(styles)].map((style) => `'sha256-${hash('sha256', style, 'base64')}'`);
  const name = 'Content-Security-Policy';
  const allowed = `$& 'unsafe-hashes' ${hashes.join(' ')}`;
  ctx.set(name, ctx.response.get(name).replace("style-src 'self'", allowed));
}

/** A mail with its subject, as HTML and as text. The page must allow its styles (`allowMailStyles`). */
export function MailPreview({ mail, title }: { mail: MailContent; title: string }) {
  const { texts } = useView().t.settings;
  return (
    <Panel id="preview" title={title}>
      <PanelBody>
        <p>
          <span class="muted">{texts.subject}:</span> <strong>{mail.subject}</strong>
        </p>
      </PanelBody>
      <MailFrame html={mail.html} title={title} />
      <details class="fold">
        <summary>{texts.asText}</summary>
        <PanelBody>
          <pre>
            <code>{mail.text}</code>
          </pre>
        </PanelBody>
      </details>
    </Panel>
  );
}
