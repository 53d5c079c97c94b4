// What depends on a language is English, as in Maestro; other languages are errors but for dates in figures, and options that
// are not known are errors, not another text.
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
    const known = ['style', 'currency', 'minimumFractionDigits', 'maximumFractionDigits', 'minimumIntegerDigits', 'useGrouping'];
    const {style = 'decimal', currency = '', useGrouping = true, ...digits} = english('toLocaleString', locales, options, known);
    const sign = style === 'currency' ? signs[text(currency).toUpperCase()] : '';
    if (sign === undefined || !['decimal', 'percent', 'currency'].includes(style)) {
      throw new RangeError(`toLocaleString: ${style} ${currency} is not available here`);
    }
    const usual = style !== 'currency' ? 0 : sign === signs.JPY ? 0 : 2;
    const least = Number(digits.minimumFractionDigits ?? Math.min(usual, digits.maximumFractionDigits ?? usual));
    const most = Number(digits.maximumFractionDigits ?? Math.max(least, style === 'decimal' ? 3 : usual));
    const integers = Math.trunc(Number(digits.minimumIntegerDigits ?? 1));
    if (!(integers >= 1 && integers <= 21)) throw new RangeError('toLocaleString: minimumIntegerDigits is out of range');
    if (!(least >= 0 && least <= most && most <= 100)) throw new RangeError('toLocaleString: the fraction digits are out of range');
    const minus = value < 0 || Object.is(value, -0) ? '-' : '', unit = style === 'percent' ? '%' : '';
    if (value !== value) return `${sign}NaN${unit}`;
    if (value === Infinity || value === -Infinity) return `${minus}${sign}\u221e${unit}`;
    const [integer, part] = round(Math.abs(value), Math.trunc(least), Math.trunc(most), style === 'percent' ? 2 : 0);
    const whole = integer.padStart(integers, '0');
    return `${minus}${sign}${useGrouping ? group(whole) : whole}${part === '' ? '' : `.${part}`}${unit}`;
  };
  const replaceMethod = (prototype, name, value) => define(prototype, name, {value, writable: true, configurable: true});
  replaceMethod(Number.prototype, 'toLocaleString', function (locales, options) { return writeNumber(Number(this), locales, options); });
  replaceMethod(BigInt.prototype, 'toLocaleString', function (locales, options) {
    english('toLocaleString', locales, options, []);
    return group(text(this));
  });
  const two = (number) => text(number).padStart(2, '0');
  const months = 'January February March April May June July August September October November December'.split(' ');
  const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
  // Dates in figures, as other languages write them: dd is always two digits, d one or two.
  const figures = {
    __proto__: null, default: 'M/d/y', 'en-us': 'M/d/y', en: 'M/d/y', 'en-gb': 'dd/MM/y', 'en-au': 'dd/MM/y', 'en-ca': 'y-MM-dd', 'sv-se': 'y-MM-dd', 'de-de': 'd.M.y',
    'fr-fr': 'dd/MM/y', 'es-es': 'd/M/y', 'it-it': 'dd/MM/y', 'pt-br': 'dd/MM/y', 'nl-nl': 'd-M-y', 'pl-pl': 'd.MM.y',
  };
  const widths = {
    __proto__: null, weekday: ['long', 'short'], year: ['numeric', '2-digit'], month: ['numeric', '2-digit', 'long', 'short'], day: ['numeric', '2-digit'],
    hour: ['numeric', '2-digit'], minute: ['numeric', '2-digit'], second: ['numeric', '2-digit'],
    hour12: ['true', 'false'], timeZone: ['UTC'],
    dateStyle: ['full', 'long', 'medium', 'short'], timeStyle: ['medium', 'short'],
  };
  const styles = {
    full: {weekday: 'long', month: 'long', day: 'numeric', year: 'numeric'}, long: {month: 'long', day: 'numeric', year: 'numeric'},
    medium: {month: 'short', day: 'numeric', year: 'numeric'}, short: {month: 'numeric', day: 'numeric', year: '2-digit'},
  };
  const dateFields = ['weekday', 'year', 'month', 'day'], timeFields = ['hour', 'minute', 'second'];
  const has = (parts, fields) => fields.some((field) => field in parts);
  const readStyles = (name, {dateStyle, timeStyle, ...rest}) => {
    const other = {__proto__: null, toLocaleDateString: timeStyle, toLocaleTimeString: dateStyle}[name];
    if (has(rest, [...dateFields, ...timeFields]) || other !== undefined) throw new TypeError(`${name}: ${other ?? 'a style'} cannot be used here`);
    const time = {hour: 'numeric', minute: 'numeric', ...timeStyle === 'medium' ? {second: 'numeric'} : {}};
    return {...rest, ...styles[dateStyle], ...timeStyle ? time : {}};
  };
  const readParts = (name, options) => {
    const parts = {};
    for (const key of ownKeys(options ?? {})) {
      if (options[key] === undefined) continue;
      const value = text(options[key]);
      if (!widths[key]?.includes(value)) throw new RangeError(`${name}: the option ${text(key)}: ${value} is not available here`);
      parts[key] = value;
    }
    if (has(parts, ['dateStyle', 'timeStyle'])) return readStyles(name, parts);
    const needed = {__proto__: null, toLocaleDateString: dateFields, toLocaleTimeString: timeFields}[name] ?? [...dateFields, ...timeFields];
    if (!has(parts, needed)) for (const field of needed) if (field !== 'weekday') parts[field] = 'numeric';
    return parts;
  };
  const writeFigures = (pattern, date, {year, month, day}) => {
    const values = {y: [date.getFullYear(), year], M: [date.getMonth() + 1, month], d: [date.getDate(), day]};
    let written = '', between = '';
    for (const [, letters, after] of pattern.matchAll(/([yMd]+)([^yMd]*)/g)) {
      const [value, width] = values[letters[0]], isYear = letters === 'y';
      if (width === undefined) continue;
      written += written && between;
      written += width === '2-digit' || letters.length > 1 ? two(isYear ? value % 100 : value) : text(value);
      between = after;
    }
    return written;
  };
  const writeDate = (date, parts, pattern, isEnglish) => {
    const {weekday, year, month, day} = parts, fields = dateFields.filter((field) => field in parts).join(' ');
    const isNamed = month === 'long' || month === 'short', cut = (word, width) => width === 'short' ? word.slice(0, 3) : word;
    const isOdd = /year day/.test(fields) || (weekday && (year || month) && !day) || (!isEnglish && (isNamed || fields !== 'year month day'));
    if (isOdd) throw new RangeError(`a date of ${fields} is not available here`);
    const dayName = weekday && cut(weekdays[date.getDay()], weekday);
    if (fields === 'weekday day') return `${writeFigures('d', date, parts)} ${dayName}`;
    const monthDay = () => [cut(months[date.getMonth()], month), day && writeFigures('d', date, {day})].filter(Boolean).join(' ');
    const named = () => [monthDay(), year && writeFigures('y', date, {year})].filter(Boolean).join(day ? ', ' : ' ');
    return [dayName, isNamed ? named() : writeFigures(pattern, date, parts)].filter(Boolean).join(', ');
  };
  const writeTime = (date, {hour, minute, second, hour12}) => {
    const is24 = hour12 === 'false', of12 = date.getHours() % 12 || 12;
    if (hour && second && !minute) throw new RangeError('a time without minutes is not available here');
    if (!hour && !(minute && second)) return text(minute ? date.getMinutes() : date.getSeconds());
    const hours = is24 ? two(date.getHours()) : hour === '2-digit' ? two(of12) : text(of12);
    const shown = [hour && hours, minute && two(date.getMinutes()), second && two(date.getSeconds())].filter(Boolean).join(':');
    return !hour || is24 ? shown : `${shown}\u202f${date.getHours() < 12 ? 'AM' : 'PM'}`;
  };
  const format = (name, date, locales, options) => {
    const locale = text((Array.isArray(locales) ? locales[0] : locales) ?? 'default').toLowerCase(), pattern = figures[locale];
    const parts = readParts(name, options), isEnglish = pattern === figures.en;
    const hasTime = has(parts, timeFields), hasDate = has(parts, dateFields);
    if (pattern === undefined || (hasTime && !isEnglish)) throw new RangeError(`${name}: only en-US is available here, not ${locale}`);
    if (date.getTime() !== date.getTime()) return 'Invalid Date';
    const written = [hasDate && writeDate(date, parts, pattern, isEnglish), hasTime && writeTime(date, parts)];
    return written.filter(Boolean).join(parts.month === 'long' ? ' at ' : ', ');
  };
  for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']) {
    replaceMethod(Date.prototype, name, function (locales, options) { return format(name, this, locales, options); });
  }
  const withFormat = (write) => function (locales, options) { return {format: (value) => write(value, locales, options)}; };
  define(globalThis, 'Intl', {value: {
    DateTimeFormat: withFormat((value, locales, options) => {
      const name = has(options ?? {}, ['dateStyle', 'timeStyle', ...timeFields]) ? 'toLocaleString' : 'toLocaleDateString';
      return format(name, value === undefined ? new Date() : new Date(value), locales, options);
    }),
    NumberFormat: withFormat((value, locales, options) => writeNumber(Number(value), locales, options)),
  }, writable: true, configurable: true});
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
