//!tilelab block=(32,8) grid=(ceil(Width/32), ceil(Height/32)) tile=32
__global__ void transposeKernel(const float *input, float *output, int rows, int cols) {
    __shared__ float buf[32][33];
    const int c = threadIdx.x + 32 * blockIdx.x, r = threadIdx.y + 32 * blockIdx.y;
    const int li = threadIdx.x, lj = threadIdx.y;
    if (c < cols) {
        if (r < rows) buf[lj][li] = input[r * cols + c];
        if (r + 8 < rows) buf[lj + 8][li] = input[(r + 8) * cols + c];
        if (r + 16 < rows) buf[lj + 16][li] = input[(r + 16) * cols + c];
        if (r + 24 < rows) buf[lj + 24][li] = input[(r + 24) * cols + c];
    }
    __syncthreads();
    const int oc = threadIdx.x + 32 * blockIdx.y, orow = threadIdx.y + 32 * blockIdx.x;
    if (oc < rows) {
        if (orow < cols) output[orow * rows + oc] = buf[li][lj];
        if (orow + 8 < cols) output[(orow + 8) * rows + oc] = buf[li][lj + 8];
        if (orow + 16 < cols) output[(orow + 16) * rows + oc] = buf[li][lj + 16];
        if (orow + 24 < cols) output[(orow + 24) * rows + oc] = buf[li][lj + 24];
    }
}
