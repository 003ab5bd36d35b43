import type { ContextItem } from "../ext";

/** Something that goes along with a prompt, as the chat shows it. */
export interface Attachment {
  id: string;
  label: string;
  /** In full, for the tooltip and for screen readers. */
  title: string;
  icon: string;
  item: ContextItem;
}

/** The types of pictures that the models read. */
export const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];

/** Sizes in bytes: of one picture, and of all of a prompt. A request may have 20 MB, of base64. */
export const limits = { image: 5 << 20, all: 12 << 20 };

/** Why a picture cannot go along, in words for the user; undefined: it can. */
export function imageProblem(picture: { name: string; type: string; size: number }, already: number): string | undefined {
  const name = picture.name || "The picture";
  if (!imageTypes.includes(picture.type)) {
    return `${name} is ${picture.type ? `of type ${picture.type}` : "no picture"}: pictures must be PNG, JPEG, WebP or HEIC.`;
  }
  if (picture.size > limits.image) {
    return `${name} has ${mb(picture.size)} MB; a picture may have ${mb(limits.image)} MB. Make it smaller and try again.`;
  }
  if (already + picture.size > limits.all) {
    return `${name} is too much: the pictures of one prompt may have ${mb(limits.all)} MB together. Send it with the next prompt.`;
  }
  return undefined;
}

/** The bytes that base64 stands for. */
export function bytesOf(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}

function mb(bytes: number): string {
  return (bytes / (1 << 20)).toFixed(bytes % (1 << 20) === 0 ? 0 : 1);
}
