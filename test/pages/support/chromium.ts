import { chromium, type Browser, type LaunchOptions } from 'playwright-core';

/** Debian's Chromium, which test/support/install-programs.sh installs. */

const CHROMIUM = '/usr/bin/chromium';

/** Opens Chromium. Host names in ".test" and the shop's own lead to this machine, whose certificates are home-made. */
export function openBrowser(options: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({
    ...options,
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--ignore-certificate-errors',
      '--host-resolver-rules=MAP *.test 127.0.0.1, MAP *.example 127.0.0.1',
      ...(options.args ?? []),
    ],
  });
}
