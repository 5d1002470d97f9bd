const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The text of UTF-8 bytes without a byte order mark, or undefined where they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  return decodeWith(utf8, bytes);
}

/**
 * The text of bytes in their declared charset; without one (or with one that nobody knows) as UTF-8, and as UTF-16
 * where a byte order mark says so. `declaration` is the charset that the content itself names (an XML declaration), the
 * last thing to be tried. Undefined where the bytes are no text in any of these. Charsets are those of the WHATWG
 * Encoding standard, where ISO-8859-1 is read as windows-1252.
 */
export function decodeText(bytes: Uint8Array, charset?: string, declaration?: string): string | undefined {
  const marked = charset === undefined || /^utf-?16$/i.test(charset) ? markedDecoder(bytes) : undefined;
  const named = marked ?? decoderFor(charset);
  const text = named === undefined ? undefined : decodeWith(named, bytes);
  if (text !== undefined) return text;
  const declared = charset === undefined ? decoderFor(declaration) : undefined;
  return decodeUtf8(bytes) ?? (declared && decodeWith(declared, bytes));
}

const XML_DECLARATION = /^<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]{0,39})["']/;

/** The charset that an XML declaration names, if there is one (XML 1.0, 4.3.3). */
export function xmlEncoding(bytes: Uint8Array): string | undefined {
  return XML_DECLARATION.exec(Buffer.from(bytes.subarray(0, 200)).toString("latin1"))?.[1];
}

function decoderFor(charset: string | undefined): TextDecoder | undefined {
  // The Encoding standard reads ASCII as windows-1252; bytes over 127 are no ASCII, and likelier UTF-8.
  if (charset === undefined || /^(?:us-)?ascii$|^utf-?8$/i.test(charset)) return undefined;
  try {
    return new TextDecoder(charset as Bun.Encoding, { fatal: true });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function markedDecoder(bytes: Uint8Array): TextDecoder | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return decoderFor("utf-16le");
  return bytes[0] === 0xfe && bytes[1] === 0xff ? decoderFor("utf-16be") : undefined;
}

function decodeWith(decoder: TextDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    // What a fatal decoder throws for bytes outside its charset.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
