import { bytesOf, imageProblem, type Attachment } from "../attachment";

let made = 0;

/** Reads pictures that were pasted or dropped; what cannot go along is told by problem. */
export async function readImages(files: File[], already: readonly Attachment[], problem: (text: string) => void): Promise<Attachment[]> {
  const out: Attachment[] = [];
  let size = already.reduce((n, a) => n + (a.item.kind === "image" ? bytesOf(a.item.data ?? "") : 0), 0);
  for (const f of files) {
    const wrong = imageProblem(f, size);
    if (wrong) {
      problem(wrong);
      continue;
    }
    size += f.size;
    const data = await base64(f);
    const name = f.name || "picture";
    out.push({ id: `i${++made}`, label: name, title: `${name}, ${Math.ceil(f.size / 1024)} KB`, icon: "image", item: { kind: "image", mimeType: f.type, data } });
  }
  return out;
}

function base64(f: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("it cannot be read"));
    reader.readAsDataURL(f);
  });
}
