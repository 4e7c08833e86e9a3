/** The page for an answer to a customer. */
export const answer = {
  title: 'Answer for the customer',
  write: 'The mail',
  preview: 'As it will arrive',
  from: 'From',
  to: 'To',
  subject: 'Subject',
  body: 'Text',
  send: 'Send the mail',
  busy: 'Sending...',
  check: 'Update the preview',
  open: 'Send it by mail…',
  off: (why: string) => `It cannot be sent from here. ${why}`,
  empty: 'Please type a subject and a text.',
  noKeySecret:
    'The text contains a licence key, and this service cannot store it encrypted until the mail is sent. Leave the key out.',
};
