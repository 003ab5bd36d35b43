/** What markdown-it uses of the package "uc.micro": the regular expressions know these classes by themselves. */
export const P = /\p{P}/u;
export const S = /\p{S}/u;
