import { openMyDownload, type Opener } from '../../../selfservice/by-key';
import type { RefusalCode } from '../../../licensing/core/verdict';
import { PACKAGE_HEADERS } from '../../answers';
import { sendPackage } from '../../downloads';
import { toId } from '../../../operations/kit/request-params';
import { fieldOf } from '../form-state';
import { setPageHeaders } from '../headers';
import type { PageResponse, CustomerCall, Route } from '../page';
import { showByKey } from './by-key';
import { showByMail } from './by-mail';
import { clientOf, limitAsDownload, orNotFound } from './customer';

/**
 * Answers a download form like the API, with the same decision and log entry. A refusal shows the page again with the
 * reason.
 */
export const downloadRoute: Route<CustomerCall> = {
  path: '/my/downloads',
  get: ({ session }) => ({ to: session.by === 'mail' ? '/my/mail' : '/my' }),
  async post(call, sent) {
    await limitAsDownload(call);
    const { ctx, session, licensing, settings } = call;
    const productId = toId(sent.get('product_id'));
    const version = fieldOf(sent, 'version') || undefined;
    const opener: Opener =
      session.by === 'key' ? session : { ...session, licenseId: toId(sent.get('license_id')) };
    const decided = orNotFound(
      await openMyDownload(
        licensing,
        settings.downloads.packagesDir,
        opener,
        { productId, version },
        clientOf(ctx),
      ),
    );
    if ('refused' in decided) return refuse(call, decided.refused, version);
    const isLate = () => ctx.state.answered;
    if (isLate()) return { sent: true };
    const isSent = await sendPackage(ctx, decided.release, settings.downloads);
    decided.record(isSent);
    if (isSent || isLate()) return { sent: true };
    for (const header of PACKAGE_HEADERS) ctx.res.removeHeader(header);
    setPageHeaders(ctx);
    return refuse(call, 'FILE_NOT_FOUND', version);
  },
};

async function refuse(
  call: CustomerCall,
  code: RefusalCode,
  version: string | undefined,
): Promise<PageResponse> {
  const { refused, whatever } = call.view.t.my;
  const say = refused[code] ?? refused.other;
  const sentence = say?.(version ?? whatever) ?? code;
  const shown = await (call.session.by === 'key' ? showByKey(call, sentence) : showByMail(call, sentence));
  const status = code === 'DOWNLOAD_NOT_FOUND' || code === 'FILE_NOT_FOUND' ? 404 : 403;
  return 'page' in shown ? { ...shown, status } : shown;
}
