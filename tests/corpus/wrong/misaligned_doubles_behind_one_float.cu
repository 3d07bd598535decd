__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ __align__(16) float room[1 + 2 * 1024];
    double* sums = (double*)&room[1];
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    sums[t] = (double)(i < n ? input[i] : 0) + (i + (int)blockDim.x < n ? input[i + blockDim.x] : 0);
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) sums[t] += sums[t + stride];
    }
    if (t == 0) output[blockIdx.x] = (float)sums[0];
}
