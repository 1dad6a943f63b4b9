def recorded_by_proxy_async(test):
    return test
