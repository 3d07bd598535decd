#define T 16
//!tilelab tile=16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float4 Ns[T][T / 4];
    int tx = threadIdx.x, ty = threadIdx.y, lane = ty * T + tx - (T * T - 32);
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += T) {
        if (lane >= 0)
            for (int y = lane / 4; y < T; y += 8)
                Ns[y][lane % 4] = *(const float4*)&N[(k0 + y) * Width + blockIdx.x * T + lane % 4 * 4];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += M[row * Width + k0 + k] * ((const float*)Ns[k])[tx];
        __syncwarp();
    }
    P[row * Width + col] = sum;
}
