// One upload: reports of one survey and one segment, as packed bytes or as JSON.

import { isWhole } from "./documents.mjs";
import { ArgumentError, FormatError } from "./errors.mjs";
import { bytesOf, hexadecimal } from "./sha256.mjs";

export const MEDIA_TYPE = "application/vnd.lapwing.batch";

const MAGIC = "LWUPLOAD";
const HEADER = 48;
const MOST_REPORTS = 65_536;
const MOST_BYTES = 2 ** 24;

const REMAINDERS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let i = 0; i < 8; i++) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  return remainder;
});

/** Return the CRC-32 of bytes, as in zip and PNG. */
export function crc32(bytes) {
  let remainder = 0xffffffff;
  for (const byte of bytes) remainder = REMAINDERS[(remainder ^ byte) & 255] ^ (remainder >>> 8);
  return ~remainder >>> 0;
}

/** Reports that are sent, stored and counted together, or not at all. */
export class Batch {
  /**
   * `survey` is its fingerprint, `segment` 0 for none or the number of one, counted from 1;
   * `records` contains the reports one after another.
   */
  constructor({ survey, segment = 0, records, reports = 1 }) {
    const size = records.length;
    if (!/^[0-9a-f]{64}$/.test(survey) || !isWhole(segment, 0, 65_535)) {
      throw new ArgumentError(
        "a batch must name its survey by 64 hex digits, and a segment in 0..65535",
      );
    }
    if (!isWhole(reports, 1, MOST_REPORTS) || size < 1 || size > MOST_BYTES || size % reports) {
      throw new ArgumentError(
        "a batch must have 1 to 65,536 reports of the same width, at most 2^24 bytes",
      );
    }
    Object.assign(this, { survey, segment, records, reports });
    Object.freeze(this);
  }

  /** Return the packed form. */
  toBytes() {
    const bytes = new Uint8Array(HEADER + this.records.length + 4);
    const view = new DataView(bytes.buffer);
    bytes.set(new TextEncoder().encode(MAGIC));
    view.setUint16(8, 1, true);
    view.setUint16(10, this.segment, true);
    view.setUint32(12, this.reports, true);
    bytes.set(bytesOf(this.survey), 16);
    bytes.set(this.records, HEADER);
    view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)), true);
    return bytes;
  }

  /** Return the JSON form; `segments` are those of the survey. */
  toJson(segments = []) {
    const width = this.records.length / this.reports;
    const report = (_, i) => hexadecimal(this.records.subarray(i * width, (i + 1) * width));
    return JSON.stringify({
      survey: this.survey,
      segment: segments[this.segment - 1] ?? null,
      reports: Array.from({ length: this.reports }, report),
    });
  }

  /** Return the batch in its packed form; FormatError when it is none, or damaged. */
  static fromBytes(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const begins = [...MAGIC].every((letter, i) => bytes[i] === letter.charCodeAt(0));
    if (!begins || bytes.length < HEADER + 4 || view.getUint16(8, true) !== 1) {
      throw new FormatError(
        "a packed batch must begin with LWUPLOAD and version 1, but this one does not",
      );
    }
    if (crc32(bytes.subarray(0, -4)) !== view.getUint32(bytes.length - 4, true)) {
      throw new FormatError("the batch is damaged: its checksum does not match");
    }
    return new Batch({
      survey: hexadecimal(bytes.subarray(16, HEADER)),
      segment: view.getUint16(10, true),
      records: bytes.slice(HEADER, -4),
      reports: view.getUint32(12, true),
    });
  }
}
