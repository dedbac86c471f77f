-- Until then `summary` held both as JSON; nothing reads or writes that column any more.
UPDATE loops SET origin = json_extract(summary, '$.origin'), parent = json_extract(summary, '$.race')
    WHERE CASE WHEN summary IS NULL THEN FALSE ELSE json_valid(summary) END;
