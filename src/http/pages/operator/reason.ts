/** Returns the sentence for a reason code. A code may end with the lines that it is about: `cut:11-13`. */
export function reasonText(words: Record<string, string>, reason: string): string {
  const [word = '', lines] = reason.split(':');
  const text = words[word];
  return text === undefined ? reason : lines === undefined ? text : `${text} (${lines})`;
}
