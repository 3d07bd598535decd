__global__ void MatrixMulKernel(const float* __restrict__ left, const float* __restrict__ right,
                                float* __restrict__ out, const int width) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < width && col < width) {
        float v = 0.0f;
#pragma unroll 8
        for (int k = 0; k < width; ++k) {
            v = __fmaf_rn(__ldg(&left[row * width + k]), __ldg(&right[k * width + col]), v);
        }
        out[row * width + col] = v;
    }
}
