// What depends on a language is English, as in Maestro; other languages and options are errors, not another text.
(function () {
  'use strict';
  const text = String, ownKeys = Reflect.ownKeys, define = Object.defineProperty;
  const english = (what, locales, options, known) => {
    const locale = text(locales ?? 'en').toLowerCase(), unknown = ownKeys(options ?? {}).filter((name) => !known.includes(name));
    if (locale !== 'en' && locale !== 'en-us') throw new RangeError(`${what}: only en-US is available here, not ${locale}`);
    if (unknown.length > 0) throw new RangeError(`${what}: the option ${text(unknown[0])} is not available here`);
    return options ?? {};
  };
  const signs = {USD: '$', EUR: '\u20ac', GBP: '\u00a3', JPY: '\u00a5', INR: '\u20b9'};
  const group = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ',');
  const round = (value, least, most, scale) => {
    const [, first, rest, power] = /^(\d)\.?(\d*)e(.*)$/.exec(value.toExponential());
    const shift = Number(power) - rest.length + most + scale, size = 10n ** BigInt(shift < 0 ? -shift : shift);
    const whole = shift < 0 ? (BigInt(first + rest) + size / 2n) / size : BigInt(first + rest) * size;
    const digits = text(whole).padStart(most + 1, '0'), at = digits.length - most;
    let end = digits.length;
    while (end > at + least && digits[end - 1] === '0') end--;
    return [digits.slice(0, at), digits.slice(at, end)];
  };
  const writeNumber = (value, locales, options) => {
    const known = ['style', 'currency', 'minimumFractionDigits', 'maximumFractionDigits', 'useGrouping'];
    const {style = 'decimal', currency = '', useGrouping = true, ...digits} = english('toLocaleString', locales, options, known);
    const sign = style === 'currency' ? signs[text(currency).toUpperCase()] : '';
    if (sign === undefined || !['decimal', 'percent', 'currency'].includes(style)) {
      throw new RangeError(`toLocaleString: ${style} ${currency} is not available here`);
    }
    const usual = style !== 'currency' ? 0 : sign === signs.JPY ? 0 : 2;
    const least = Number(digits.minimumFractionDigits ?? Math.min(usual, digits.maximumFractionDigits ?? usual));
    const most = Number(digits.maximumFractionDigits ?? Math.max(least, style === 'decimal' ? 3 : usual));
    if (!(least >= 0 && least <= most && most <= 100)) throw new RangeError('toLocaleString: the fraction digits are out of range');
    const minus = value < 0 || Object.is(value, -0) ? '-' : '', unit = style === 'percent' ? '%' : '';
    if (value !== value) return `${sign}NaN${unit}`;
    if (value === Infinity || value === -Infinity) return `${minus}${sign}\u221e${unit}`;
    const [whole, part] = round(Math.abs(value), Math.trunc(least), Math.trunc(most), style === 'percent' ? 2 : 0);
    return `${minus}${sign}${useGrouping ? group(whole) : whole}${part === '' ? '' : `.${part}`}${unit}`;
  };
  const replaceMethod = (prototype, name, value) => define(prototype, name, {value, writable: true, configurable: true});
  replaceMethod(Number.prototype, 'toLocaleString', function (locales, options) { return writeNumber(Number(this), locales, options); });
  replaceMethod(BigInt.prototype, 'toLocaleString', function (locales, options) {
    english('toLocaleString', locales, options, []);
    return group(text(this));
  });
  const writeDate = (date) => `${date.getMonth() + 1}/${date.getDate()}/${date.getFullYear()}`;
  const two = (number) => text(number).padStart(2, '0');
  const writeTime = (date) => {
    const hour = date.getHours();
    return `${hour % 12 || 12}:${two(date.getMinutes())}:${two(date.getSeconds())}\u202f${hour < 12 ? 'AM' : 'PM'}`;
  };
  const dates = {
    toLocaleString: (date) => `${writeDate(date)}, ${writeTime(date)}`, toLocaleDateString: writeDate, toLocaleTimeString: writeTime,
  };
  for (const name of ownKeys(dates)) {
    replaceMethod(Date.prototype, name, function (locales, options) {
      english(name, locales, options, []);
      return this.getTime() !== this.getTime() ? 'Invalid Date' : dates[name](this);
    });
  }
  const alphabet = '\t\n\v\f\r _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz';
  const weight = (sign) => {
    const found = alphabet.indexOf(sign.toLowerCase());
    return found < 0 ? 1000 + sign.toLowerCase().codePointAt(0) : found;
  };
  const compare = (left, right) => {
    for (let index = 0; index < left.length && index < right.length; index++) {
      if (left[index] !== right[index]) return left[index] < right[index] ? -1 : 1;
    }
    return Math.sign(left.length - right.length);
  };
  replaceMethod(String.prototype, 'localeCompare', function (other, locales, options) {
    english('localeCompare', locales, options, []);
    const apart = [text(this), text(other)].map((each) => each.normalize('NFD'));
    const [left, right] = apart.map((each) => [...each.replace(/[\p{M}\p{Cc}]/gu, (sign) => /\s/.test(sign) ? sign : '')]);
    const marks = apart.map((each) => [...each].map((sign) => /\p{M}/u.test(sign) ? sign.codePointAt(0) : 0));
    const cases = [left, right].map((signs) => signs.map((sign) => sign !== sign.toLowerCase()));
    return compare(left.map(weight), right.map(weight)) || compare(...marks) || compare(...cases);
  });
  for (const name of ['toLocaleUpperCase', 'toLocaleLowerCase']) {
    const change = String.prototype[name.replace('Locale', '')];
    replaceMethod(String.prototype, name, function (locales) {
      if (/^(tr|az|lt)\b/i.test(text(locales ?? ''))) throw new RangeError(`${name}: ${text(locales)} is not available here`);
      return change.call(this);
    });
  }
})();
