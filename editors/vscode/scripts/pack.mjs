// Packs the built extension into redline-VERSION.vsix: a zip with the manifests that
// editors expect. Only what runs goes in. usage: pack.mjs [OUT.vsix]
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const pkg = JSON.parse(readFileSync("package.json", "utf8"));
const out = process.argv[2] ?? `${pkg.name}-${pkg.version}.vsix`;

const esc = (s) => String(s).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const manifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id="${esc(pkg.name)}" Version="${esc(pkg.version)}" Publisher="${esc(pkg.publisher)}"/>
<DisplayName>${esc(pkg.displayName)}</DisplayName>
<Description xml:space="preserve">${esc(pkg.description)}</Description>
<Tags>${esc(pkg.keywords.join(","))}</Tags>
<Categories>${esc(pkg.categories.join(","))}</Categories>
<Icon>extension/media/icon.png</Icon>
<License>extension/LICENSE.txt</License>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value="${esc(pkg.engines.vscode)}"/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
</Properties>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/media/icon.png" Addressable="true"/>
</Assets>
</PackageManifest>
`;

const files = new Map([["extension.vsixmanifest", Buffer.from(manifest)]]);
const { scripts: _s, devDependencies: _d, dependencies: _p, private: _v, ...shipped } = pkg;
files.set("extension/package.json", Buffer.from(JSON.stringify(shipped)));
files.set("extension/README.md", readFileSync("README.md"));
files.set("extension/LICENSE.txt", readFileSync("../../LICENSE"));
for (const dir of ["dist", "media"]) {
  for (const f of readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => `${e.parentPath}/${e.name}`.replaceAll("\\", "/"))
    .sort()) {
    files.set(`extension/${f}`, readFileSync(f));
  }
}

// The budget is that of what the extension host loads, at the start and with the server; the
// view's own code is loaded with the view.
const BUDGET = 500 * 1024;
const bundle = ["extension.js", "languageclient.js"].reduce((n, f) => n + files.get(`extension/dist/${f}`).length, 0);
const size = [...files.values()].reduce((n, data) => n + data.length, 0);
if (bundle > BUDGET) {
  console.error(`the host's code has ${bundle} bytes, more than ${BUDGET}`);
  process.exit(1);
}
const types = { json: "application/json", js: "application/javascript", css: "text/css", svg: "image/svg+xml", png: "image/png", md: "text/markdown", txt: "text/plain", vsixmanifest: "text/xml" };
files.set(
  "[Content_Types].xml",
  Buffer.from(
    `<?xml version="1.0" encoding="utf-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
      Object.entries(types).map(([e, t]) => `<Default Extension=".${e}" ContentType="${t}"/>`).join("") +
      `</Types>`,
  ),
);
writeFileSync(out, zip(files));
console.log(`${out}: ${files.size} files, ${(size / 1024).toFixed(0)} KB, packed ${(statSync(out).size / 1024).toFixed(0)} KB`);

/** A zip archive with deflated entries, all dated 1980: the same input gives the same bytes. */
function zip(entries) {
  const table = Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k++) {
      n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
    }
    return n >>> 0;
  });
  const crc32 = (data) => {
    let c = ~0;
    for (const b of data) {
      c = table[(c ^ b) & 255] ^ (c >>> 8);
    }
    return ~c >>> 0;
  };
  const local = [];
  const central = [];
  let offset = 0;
  for (const [name, data] of entries) {
    const path = Buffer.from(name);
    const packed = deflateRawSync(data, { level: 9 });
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0); // version needed
    head.writeUInt16LE(0x800, 2); // names are UTF-8
    head.writeUInt16LE(8, 4); // deflate
    head.writeUInt16LE(0, 6); // time
    head.writeUInt16LE(0x21, 8); // 1980-01-01
    head.writeUInt32LE(crc32(data), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(data.length, 18);
    head.writeUInt16LE(path.length, 22);
    local.push(Buffer.from("PK\x03\x04"), head, path, packed);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.from("PK\x01\x02\x14\x00"), head, tail, path);
    offset += 4 + 26 + path.length + packed.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.size, 4);
  end.writeUInt16LE(entries.size, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...local, directory, Buffer.from("PK\x05\x06"), end]);
}
