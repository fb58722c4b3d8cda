-- metadata_columns(): the columns of metadata, which a job keeps when its row moves
headers, progress, errors
