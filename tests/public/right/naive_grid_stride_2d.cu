//!tilelab block=(16,8) grid=(2,3)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < Width; row += blockDim.y * gridDim.y) {
        for (int col = blockIdx.x * blockDim.x + threadIdx.x; col < Width; col += blockDim.x * gridDim.x) {
            float value = 0.0f;
            for (int k = 0; k < Width; ++k) value += M[row * Width + k] * N[k * Width + col];
            P[row * Width + col] = value;
        }
    }
}
