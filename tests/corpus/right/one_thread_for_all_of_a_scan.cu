__global__ void inclusiveScan(const int* input, int* output, int n) {
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < n; ++i) {
            sum += input[i];
            output[i] = sum;
        }
    }
}
