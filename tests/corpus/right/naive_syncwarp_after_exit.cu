//!tilelab block=(32,4) grid=(ceil(Width/32), ceil(Width/4))
// __syncwarp() with the default mask after an early return: exited threads do not hold it up on a GPU
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width) {
    int lane = threadIdx.x, row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 32 + lane;
    if (row >= Width || col >= Width) return;
    __shared__ float m[4];
    float acc = 0;
    for (int k = 0; k < Width; ++k) {
        if (lane == 0) m[threadIdx.y] = M[row * Width + k];
        __syncwarp();
        acc += m[threadIdx.y] * N[k * Width + col];
        __syncwarp();
    }
    P[row * Width + col] = acc;
}
