'use strict';
/*
 * Progress of an upload:
 *   <form method="post" enctype="multipart/form-data" data-upload
 *     data-upload-sent="{sent} of {total}" data-upload-left="{sent} of {total}, about {time} left."
 *     data-upload-saving="Reading the package..." data-upload-stopped="Stopped. Nothing was saved."
 *     data-upload-failed="The connection broke. Please try again.">
 *     <p data-upload-plain>Do not close this page.</p>
 *     <div data-upload-box hidden> <progress class="done-of" max="100"></progress> <p data-upload-text></p>
 *       <button type="button" data-upload-stop>Stop</button> </div>
 *     <p role="status" data-upload-status></p>
 * Hides data-upload-plain, shows data-upload-box while bytes are sent, and then shows the answered page under its
 * address. Without scripts, the form works like any other.
 */
const hidePlain = () => {
  for (const plain of document.querySelectorAll('[data-upload-plain]')) plain.hidden = true;
};

const inUnits = (unit, value, digits) =>
  new Intl.NumberFormat(document.documentElement.lang, {
    style: 'unit',
    unit,
    unitDisplay: unit === 'megabyte' ? 'short' : 'long',
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  }).format(value);
const megabytes = (bytes) => inUnits('megabyte', bytes / 1e6, 1);
const duration = (seconds) =>
  seconds < 90
    ? inUnits('second', Math.max(1, Math.round(seconds)), 0)
    : inUnits('minute', Math.round(seconds / 60), 0);

/** Shows an answered page as the browser would. A reload requests its address. */
let shown;
const show = (text, address) => {
  const page = new DOMParser().parseFromString(text, 'text/html');
  document.title = page.title;
  document.body.replaceWith(page.body);
  if (address !== location.href) history.pushState(null, '', address);
  shown = location.pathname + location.search;
  scrollTo(0, 0);
  document.dispatchEvent(new Event('licensing:content'));
  (document.querySelector('[autofocus]') ?? document.querySelector('main'))?.focus();
};
addEventListener('popstate', () => {
  if (shown && shown !== location.pathname + location.search) location.reload();
});

const upload = (form, button) => {
  const part = (name) => form.querySelector(`[data-upload-${name}]`);
  const [box, text, status] = ['box', 'text', 'status'].map(part);
  const bar = box.querySelector('progress');
  const request = new XMLHttpRequest();
  const started = performance.now();
  const askBeforeLeaving = (event) => event.preventDefault();
  let written = -Infinity;

  const end = (message) => {
    removeEventListener('beforeunload', askBeforeLeaving);
    box.hidden = true;
    form.removeAttribute('data-upload-running');
    status.textContent = message;
  };
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    bar.value = (100 * loaded) / total;
    const now = performance.now();
    if (now - written < 500) return;
    written = now;
    // Show no remaining time in the first second, which is too short to measure the speed.
    const left = ((now - started) / 1000) * (total / loaded - 1);
    const template = now - started < 1000 ? form.dataset.uploadSent : form.dataset.uploadLeft;
    text.textContent = template
      .replace('{sent}', megabytes(loaded))
      .replace('{total}', megabytes(total))
      .replace('{time}', duration(left));
  });
  request.upload.addEventListener('load', () => (status.textContent = form.dataset.uploadSaving));
  request.addEventListener('load', () => {
    end('');
    const isPage = request.getResponseHeader('Content-Type')?.startsWith('text/html');
    if (isPage) show(request.responseText, request.responseURL);
    else end(form.dataset.uploadFailed);
  });
  request.addEventListener('error', () => end(form.dataset.uploadFailed));
  request.addEventListener('abort', () => end(form.dataset.uploadStopped));
  part('stop').onclick = () => {
    request.abort();
    button?.focus();
  };

  form.setAttribute('data-upload-running', '');
  status.textContent = '';
  text.textContent = '';
  bar.value = 0;
  box.hidden = false;
  addEventListener('beforeunload', askBeforeLeaving);
  // Read the attribute, because a field named "action" would hide form.action
  request.open('POST', form.getAttribute('action') ?? '');
  request.setRequestHeader('Accept', 'text/html');
  request.send(new FormData(form, button));
};

hidePlain();
document.addEventListener('licensing:content', hidePlain);
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!form.matches('[data-upload]')) return;
  if (form.matches('[data-upload-running]')) return event.preventDefault();
  // Without a file, the server answers at once.
  const file = form.querySelector('input[type=file]')?.files[0];
  if (!file || !form.querySelector('[data-upload-box]')) return;
  event.preventDefault();
  upload(form, event.submitter);
});
