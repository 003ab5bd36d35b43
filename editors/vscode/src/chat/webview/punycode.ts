/** What markdown-it uses of the package "punycode.js": names of hosts stay as they are written. */
export default {
  toASCII: (host: string): string => host,
  toUnicode: (host: string): string => host,
};
