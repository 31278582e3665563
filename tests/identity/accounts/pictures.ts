/** One red pixel in each format that an account's picture may have. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAMAAAAoyzS7AAAAA1BMVEX/AAAZ4gk3AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAACklEQVQI12NgAAAA' +
    'AgAB4iG8MwAAAABJRU5ErkJggg==',
  'base64',
);
export const jpeg = Buffer.from(
  '/9j/2wBDAFBQUFBVUFpkZFp9h3iHfbmqm5uquf/I18jXyP//////////////////////////////////////////////////2wBDAVBQUFBVUFpk' +
    'ZFp9h3iHfbmqm5uquf/I18jXyP//////////////////////////////////////////////////wgARCAABAAEDASIAAhEBAxEB/8QAFQABAQAA' +
    'AAAAAAAAAAAAAAAAAAP/xAAVAQEBAAAAAAAAAAAAAAAAAAADBP/aAAwDAQACEAMQAAAAkDt//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQAB' +
    'PwB//8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAgEBPwB//8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAwEBPwB//9k=',
  'base64',
);
export const webp = Buffer.from('UklGRhwAAABXRUJQVlA4TA8AAAAvAAAAAAcQ/Y/+ByKi/wEA', 'base64');
